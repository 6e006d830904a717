// Line by line, word by word; what is not understood is left out.
#include "launcher/dns/resolv_conf.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "launcher/dns/words.h"

namespace ds::launcher {

namespace {

constexpr std::size_t kMaxServers = 3;  // as glibc
constexpr std::size_t kMaxSearch = 32;

bool is_address(const std::string& word) {
  const std::size_t percent = word.find('%');
  const std::string bare = word.substr(0, percent);
  in6_addr v6{};
  if (::inet_pton(AF_INET6, bare.c_str(), &v6) == 1)
    return percent == std::string::npos || percent + 1 < word.size();
  in_addr v4{};
  return percent == std::string::npos && ::inet_pton(AF_INET, bare.c_str(), &v4) == 1;
}

/// The number of `ndots:5`, or `otherwise` where there is none.
int number_after(std::string_view word, std::string_view name, int least, int most, int otherwise) {
  if (!word.starts_with(name)) return otherwise;
  word.remove_prefix(name.size());
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc::result_out_of_range) return word.starts_with('-') ? least : most;
  if (error != std::errc() || end != word.data() + word.size()) return otherwise;
  return std::clamp(value, least, most);
}

void read_options(std::span<const std::string_view> words, ResolvConf& conf) {
  for (const std::string_view word : words) {
    conf.ndots = number_after(word, "ndots:", 0, 15, conf.ndots);
    conf.timeout = number_after(word, "timeout:", 1, 30, conf.timeout);
    conf.attempts = number_after(word, "attempts:", 1, 5, conf.attempts);
    if (word == "use-vc") conf.tcp_only = true;
  }
}

void read_search(std::span<const std::string_view> words, ResolvConf& conf) {
  conf.search.clear();
  for (std::string_view word : words) {
    while (word.ends_with('.')) word.remove_suffix(1);
    if (!word.empty() && conf.search.size() < kMaxSearch) conf.search.emplace_back(word);
  }
}

void read_server(std::string_view word, ResolvConf& conf) {
  std::string server(word);
  const bool known =
      std::find(conf.servers.begin(), conf.servers.end(), server) != conf.servers.end();
  if (is_address(server) && !known && conf.servers.size() < kMaxServers)
    conf.servers.push_back(std::move(server));
}

}  // namespace

ResolvConf parse_resolv_conf(std::string_view text) {
  ResolvConf conf;
  for_each_line(text, "#;", [&](std::span<const std::string_view> words) {
    const auto rest = words.subspan(1);
    if (words[0] == "options") read_options(rest, conf);
    if (rest.empty()) return;
    if (words[0] == "nameserver") read_server(rest[0], conf);
    if (words[0] == "search") read_search(rest, conf);
    if (words[0] == "domain") read_search(rest.first(1), conf);
  });
  return conf;
}

}  // namespace ds::launcher
