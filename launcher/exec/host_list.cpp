// Items one by one; files and groups are lists again.
#include "launcher/exec/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "launcher/hosts/host_ranges.h"
#include "launcher/hosts/host_word.h"

namespace ds::launcher::exec {
namespace {

constexpr int kMostDepth = 8;
constexpr int kMostPort = 65535;

bool is_blank(char letter) { return letter == ' ' || letter == '\t' || letter == '\r'; }

/// Takes the next item off `text`; empty at the end.
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

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line.substr(0, line.find('#'));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

void HostListParser::add_items(std::string_view text, const Origin& origin, bool excluded) {
  if (origin.depth > kMostDepth)
    throw Error(ErrorKind::config,
                fmt::format("{}: files and groups name each other without end", origin.name));
  for (std::string_view item = next_item(text); !item.empty(); item = next_item(text))
    add_item(item, origin, excluded);
}

void HostListParser::add_item(std::string_view item, const Origin& origin, bool excluded) {
  if (item == "-")
    return add_items(reader_.file("-"), {"standard input", origin.depth + 1}, excluded);
  // What is left out of a list that is left out itself is left out all the same.
  if (item.front() == '-') return add_item(item.substr(1), origin, true);
  if (item.front() == '^') {
    const std::string path(item.substr(1));
    return add_items(reader_.file(path), {path, origin.depth + 1}, excluded);
  }
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
  add_items(*list, {"group " + name, origin.depth + 1}, excluded);
}

void HostListParser::add_names(std::string_view item, const Origin& origin, bool excluded) {
  const SourceLine line{origin.name, 0, item};
  try {
    const HostWord word = read_host_word(line, Word{item, 0});
    const int port = word.suffix ? read_number(line, *word.suffix, "a port", kMostPort) : 0;
    for (const std::string& name : word.names) {
      if (excluded)
        excluded_.insert(name);
      else
        add_host({.name = name,
                  .user = std::string(word.user ? word.user->text : std::string_view()),
                  .port = port});
    }
  } catch (const Error& error) {
    if (origin.depth > 0) throw;
    throw Error(ErrorKind::usage, error.what(), error.hint());
  }
}

void HostListParser::add_host(Host host) {
  if (!known_.insert(fmt::format("{} {}", host.name, host.port)).second) return;
  if (hosts_.size() == kMaxHosts)
    throw Error(ErrorKind::config, fmt::format("more than {} hosts", kMaxHosts));
  hosts_.push_back(std::move(host));
}

void HostListParser::add_hosts(const std::vector<Host>& hosts) {
  for (const Host& host : hosts) add_host(host);
}

std::vector<Host> HostListParser::hosts() const {
  std::vector<Host> hosts;
  for (const Host& host : hosts_)
    if (!excluded_.contains(host.name)) hosts.push_back(host);
  return hosts;
}

std::optional<std::string> genders_group(std::string_view text, std::string_view name) {
  std::string list;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_line(text));
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
    const std::string_view line = take_line(text);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == name)
      return std::string(line.substr(colon + 1));
  }
  return std::nullopt;
}

}  // namespace ds::launcher::exec
