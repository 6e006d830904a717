#include "launcher/dns/dns_config.h"

#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/ip/tcp.hpp>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <sstream>

#include "engine/base/own_host_name.h"
#include "launcher/dns/dns_query.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;

/// Returns a name in lower case, without a trailing dot.
std::string plain_name(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  std::string plain(name);
  for (char& c : plain)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return plain;
}

using Line = std::vector<std::string>;

/// Returns the lines of a configuration file as words, without comments.
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find_first_of("#;")));
    Line read;
    for (std::string word; words >> word;) read.push_back(std::move(word));
    if (!read.empty()) lines.push_back(std::move(read));
  }
  return lines;
}

/// Reads what c-ares does not tell: ares_save_options of 1.34 returns only the options that were
/// given to it, and 1.18 does not know use-vc, with which clusters avoid lost UDP packets.
void read_search(std::string_view text, DnsConfig& config) {
  // Without a search list the domain of this machine's name is searched.
  const std::string own = own_host_name();
  const std::size_t dot = own.find('.');
  if (dot != std::string::npos && dot + 1 < own.size()) config.search = {own.substr(dot + 1)};
  for (const Line& line : lines_of(text)) {
    if (line.size() > 1 && (line[0] == "search" || line[0] == "domain"))
      config.search.assign(line.begin() + 1, line[0] == "search" ? line.end() : line.begin() + 2);
    if (line[0] != "options") continue;
    for (const std::string& word : line) {
      if (word == "use-vc") config.tcp = true;
      if (word.starts_with("ndots:")) config.ndots = std::clamp(std::atoi(&word[6]), 0, 15);
    }
  }
}

/// Returns whether c-ares can read a file with this text. Before 1.27 it reads out of bounds where
/// a line begins with a NUL (CVE-2024-25629).
bool is_readable(std::string_view text) { return text.find('\0') == std::string_view::npos; }

std::vector<std::string> servers_in(const std::string& resolv_conf, std::string_view contents) {
  AresOptions options;
  if (is_readable(contents)) options.resolv_conf = resolv_conf;
  const AresChannel channel = open_channel(options);
  std::vector<std::string> servers;
  ares_addr_node* list = nullptr;
  if (!channel || ares_get_servers(channel.get(), &list) != ARES_SUCCESS) return servers;
  for (const ares_addr_node* node = list; node != nullptr; node = node->next) {
    std::string text = numeric_text(node->family, &node->addr);
    if (std::ranges::count(servers, text) == 0) servers.push_back(std::move(text));
  }
  ares_free_data(list);
  return servers;
}

/// Returns the addresses that the hosts file gives a name.
std::vector<asio::ip::address> in_hosts_file(const std::string& name) {
  std::vector<asio::ip::address> addresses;
  if (!is_readable(text_of("/etc/hosts"))) return addresses;
  AresOptions options;
  options.lookups = "f";
  const AresChannel channel = open_channel(options);
  if (!channel) return addresses;
  ares_addrinfo_hints hints{};
  hints.ai_flags = ARES_AI_NOSORT | ARES_AI_ENVHOSTS;
  hints.ai_socktype = SOCK_STREAM;
  // With files as its only source, c-ares answers before the call returns.
  ares_getaddrinfo(
      channel.get(), name.c_str(), nullptr, &hints,
      [](void* result, int, int, ares_addrinfo* info) {
        if (info == nullptr) return;
        for (const ares_addrinfo_node* node = info->nodes; node != nullptr; node = node->ai_next) {
          asio::ip::tcp::endpoint end;
          std::memcpy(end.data(), node->ai_addr, node->ai_addrlen);
          static_cast<std::vector<asio::ip::address>*>(result)->push_back(end.address());
        }
        ares_freeaddrinfo(info);
      },
      &addresses);
  return addresses;
}

}  // namespace

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 4096> piece{};
  while (text.size() < kMaxFileBytes && (file.read(piece.data(), piece.size()), file.gcount() > 0))
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  return text;
}

DnsConfig read_dns_config(const std::string& resolv_conf) {
  DnsConfig config;
  const std::string text = text_of(resolv_conf);
  config.servers = servers_in(resolv_conf, text);
  read_search(text, config);
  return config;
}

std::vector<std::string> candidate_names(std::string_view name, const DnsConfig& config) {
  const std::string plain = plain_name(name);
  const bool inside = std::ranges::any_of(config.search, [&](const std::string& domain) {
    return plain.ends_with("." + plain_name(domain));
  });
  if (name.ends_with('.') || inside) return {plain};
  std::vector<std::string> names;
  for (const std::string& domain : config.search) {
    if (names.size() + 1 == kMaxCandidates) break;
    const std::string suffix = plain_name(domain);
    std::string candidate = plain + "." + suffix;
    if (!suffix.empty() && std::ranges::count(names, candidate) == 0)
      names.push_back(std::move(candidate));
  }
  const bool first = std::count(plain.begin(), plain.end(), '.') >= config.ndots;
  names.insert(first ? names.begin() : names.end(), plain);
  return names;
}

std::vector<asio::ip::address> known_addresses(const std::string& name) {
  asio::error_code error;
  const asio::ip::address numeric = asio::ip::make_address(name, error);
  if (!error) return {numeric};
  const std::string plain = plain_name(name);
  auto addresses = in_hosts_file(plain);
  // c-ares 1.18 knows localhost only where there is a hosts file.
  if (addresses.empty() && (plain == "localhost" || plain.ends_with(".localhost")))
    addresses = {asio::ip::address_v4::loopback(), asio::ip::address_v6::loopback()};
  return addresses;
}

bool has_further_sources(std::string_view nsswitch_text) {
  bool further = false;
  for (const Line& line : lines_of(nsswitch_text)) {
    if (line[0] != "hosts:") continue;
    further = false;
    bool in_action = false;  // [NOTFOUND=return], also with blanks inside
    for (const std::string& word : std::span(line).subspan(1)) {
      if (word.starts_with('[')) in_action = true;
      if (!in_action && word != "files" && word != "dns") further = true;
      if (word.ends_with(']')) in_action = false;
    }
  }
  return further;
}

}  // namespace ds::launcher
