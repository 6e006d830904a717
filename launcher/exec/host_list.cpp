#include "launcher/exec/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "launcher/hosts/host_ranges.h"
#include "launcher/hosts/host_word.h"

namespace ds::launcher::exec {
namespace {

constexpr int kMostDepth = 8;
constexpr int kMostPort = 65535;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_blank(char letter) { return letter == ' ' || letter == '\t' || letter == '\r'; }

/// Removes the next item from `text` and returns it; empty at the end.
std::string_view next_item(std::string_view& text) {
  while (!text.empty() && (is_blank(text.front()) || text.front() == ',' || text.front() == '\n'))
    text.remove_prefix(1);
  if (text.starts_with('#')) {
    text.remove_prefix(std::min(text.find('\n'), text.size()));
    return next_item(text);
  }
  std::size_t end = 0;
  for (bool in_brackets = false; end < text.size(); ++end) {
    const char letter = text[end];
    if (letter == '[' || letter == ']') in_brackets = letter == '[';
    if (letter == '\n' || (!in_brackets && (is_blank(letter) || letter == ','))) break;
  }
  const std::string_view item = text.substr(0, end);
  text.remove_prefix(end);
  return item;
}

std::string_view uncommented(std::string_view line) { return line.substr(0, line.find('#')); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Returns the line of `text` that contains `item`, which is a part of `text`.
SourceLine line_around(std::string_view item, std::string_view text, std::string_view file) {
  const auto at = static_cast<std::size_t>(item.data() - text.data());
  const std::size_t begin = text.substr(0, at).rfind('\n') + 1;  // npos + 1 is 0.
  const auto number = 1 + std::count(text.begin(), text.begin() + static_cast<long>(begin), '\n');
  std::string_view line = text.substr(begin, text.find('\n', at) - begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return {file, static_cast<int>(number), line};
}

std::string name_and_port(const Host& host) { return fmt::format("{} {}", host.name, host.port); }

}  // namespace

void HostListParser::add_items(std::string_view text, const Origin& origin, bool excluded) {
  if (origin.depth > kMostDepth)
    throw Error(ErrorKind::config,
                fmt::format("{}: files and groups name each other without end", origin.name));
  for (std::string_view item = next_item(text); !item.empty(); item = next_item(text))
    add_item(item, origin, excluded);
}

void HostListParser::add_item(std::string_view item, const Origin& origin, bool excluded) {
  if (item == "-") return add_file_items("-", origin, excluded);
  if (item.front() == '/')
    throw Error(
        origin.depth == 0 ? ErrorKind::usage : ErrorKind::config,
        fmt::format("{}: {} is not a host; patterns are not known here", origin.name, quoted(item)),
        "ranges are, as in node[01-16], and groups, as in @compute");
  // An item with '-' inside an excluded list stays excluded.
  if (item.front() == '-') return add_item(item.substr(1), origin, true);
  if (item == "^" || item == "@")
    throw Error(
        origin.depth == 0 ? ErrorKind::usage : ErrorKind::config,
        fmt::format("{}: '{}' needs a {} name", origin.name, item, item == "^" ? "file" : "group"));
  if (item.front() == '^') return add_file_items(std::string(item.substr(1)), origin, excluded);
  if (item.front() == '@') return add_group_items(std::string(item.substr(1)), origin, excluded);
  add_names(item, origin, excluded);
}

void HostListParser::add_group_items(const std::string& name, const Origin& origin, bool excluded) {
  const std::optional<std::string> list = reader_.group(name);
  if (!list)
    throw Error(
        origin.depth == 0 ? ErrorKind::usage : ErrorKind::config,
        fmt::format("{}: no group '{}'", origin.name, name),
        "groups are files in ~/.dsh/group and /etc/dsh/group, attributes in /etc/genders, or "
        "lines of /etc/clustershell/groups.d/local.cfg");
  add_items(*list, {.name = "group " + name, .depth = origin.depth + 1}, excluded);
}

void HostListParser::add_file_items(const std::string& path, const Origin& origin, bool excluded) {
  const std::string text = reader_.file(path);
  std::string_view rest = text;
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  const std::string name = path == "-" ? "standard input" : path;
  add_items(rest, {.name = name, .depth = origin.depth + 1, .lines = rest}, excluded);
}

void HostListParser::add_names(std::string_view item, const Origin& origin, bool excluded) {
  SourceLine line{origin.name, 0, item};
  if (!origin.lines.empty()) line = line_around(item, origin.lines, origin.name);
  const auto offset = static_cast<std::size_t>(item.data() - line.text.data());
  try {
    const HostWord word = read_host_word(line, Word{item, offset});
    const int port = word.suffix ? read_number(line, *word.suffix, "a port", kMostPort) : 0;
    for (const std::string& name : word.names) {
      if (excluded)
        exclude_host(name, port);
      else
        add_host({.name = name,
                  .user = std::string(word.user ? word.user->text : std::string_view()),
                  .port = port},
                 origin);
    }
  } catch (const Error& error) {
    if (origin.depth > 0) throw;
    throw Error(ErrorKind::usage, error.what(), error.hint());
  }
}

void HostListParser::add_host(Host host, const Origin& origin) {
  const auto [known, is_new] = known_.try_emplace(name_and_port(host), hosts_.size());
  if (!is_new) {
    std::string& user = hosts_[known->second].user;
    if (user.empty()) user = host.user;
    if (host.user.empty() || host.user == user) return;
    throw Error(ErrorKind::config,
                fmt::format("{}: {} is named for two users, {} and {}", origin.name, host.name,
                            user, host.user),
                "every host runs the command once; use two commands");
  }
  if (hosts_.size() == kMaxHosts)
    throw Error(ErrorKind::config, fmt::format("more than {} hosts", kMaxHosts));
  hosts_.push_back(std::move(host));
}

void HostListParser::exclude_host(const std::string& name, int port) {
  if (port == 0) {
    excluded_.insert(name);
  } else {
    excluded_.insert(name_and_port({.name = name, .port = port}));
    excluded_somewhere_.insert(name);
  }
}

std::vector<Host> HostListParser::hosts() const {
  std::vector<Host> hosts;
  for (const Host& host : hosts_) {
    // The port of a host without one is known only to ssh_config. It may be the excluded port.
    const bool out = excluded_.contains(host.name) || excluded_.contains(name_and_port(host)) ||
                     (host.port == 0 && excluded_somewhere_.contains(host.name));
    if (!out) hosts.push_back(host);
  }
  return hosts;
}

void check_user(std::string_view user, std::string_view option) {
  try {
    (void)read_user({option, 0, user}, Word{user, 0});
  } catch (const Error& error) {
    throw Error(ErrorKind::usage, error.what(), error.hint());
  }
}

std::optional<std::string> genders_group(std::string_view text, std::string_view name) {
  std::string list;
  while (!text.empty()) {
    const std::string_view line = trimmed(uncommented(take_line(text)));
    const std::size_t gap = line.find_first_of(" \t");
    if (gap == std::string_view::npos) continue;
    std::string_view attributes = line.substr(gap);
    for (std::string_view item = next_item(attributes); !item.empty();
         item = next_item(attributes)) {
      const bool has = item == name || item.substr(0, item.find('=')) == name;
      if (!has) continue;
      list += std::string(line.substr(0, gap)) + "\n";
      break;
    }
  }
  if (list.empty()) return std::nullopt;
  return list;
}

std::optional<std::string> clush_group(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = uncommented(take_line(text));
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == name)
      return std::string(line.substr(colon + 1));
  }
  return std::nullopt;
}

}  // namespace ds::launcher::exec
