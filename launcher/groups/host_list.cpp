#include "launcher/groups/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/base/text_error.h"
#include "launcher/hosts/host_ranges.h"
#include "launcher/hosts/host_word.h"

namespace ds::launcher {
namespace {

constexpr int kMostDepth = 8;
constexpr int kMostPort = 65535;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_blank(char letter) { return letter == ' ' || letter == '\t' || letter == '\r'; }

constexpr std::string_view kOperators = "!&^";

struct Item {
  std::string_view text{};  // empty at the end
  char operation = ',';     // before it
};

/// Removes the next item from `text`, with separators, comments and an operator before it.
/// `after_item`: `text` begins where an item has ended; there '^' is an operator, elsewhere it
/// marks a file.
Item next_item(std::string_view& text, bool after_item) {
  Item item;
  if (after_item && text.starts_with('^')) {
    item.operation = '^';
    text.remove_prefix(1);
  }
  for (;;) {
    while (!text.empty() && (is_blank(text.front()) || text.front() == ',' || text.front() == '\n'))
      text.remove_prefix(1);
    if (text.starts_with('#')) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (item.operation == ',' && (text.starts_with('!') || text.starts_with('&'))) {
      item.operation = text.front();
      text.remove_prefix(1);
    } else {
      break;
    }
  }
  const bool is_file = text.starts_with('^') || text.starts_with("-^");
  std::size_t end = 0;
  for (bool in_brackets = false; end < text.size(); ++end) {
    const char letter = text[end];
    if (letter == '[' || letter == ']') in_brackets = letter == '[';
    if (letter == '\n' || (!in_brackets && (is_blank(letter) || letter == ','))) break;
    if (!in_brackets && !is_file && kOperators.find(letter) != std::string_view::npos) break;
  }
  item.text = text.substr(0, end);
  text.remove_prefix(end);
  return item;
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

void HostListParser::add_items(std::string_view text, const Origin& origin, HostSet& into) {
  if (origin.depth > kMostDepth)
    throw Error(ErrorKind::config,
                fmt::format("{}: files and groups name each other without end", origin.name));
  HostSet own;
  for (bool first = true;; first = false) {
    const Item item = next_item(text, !first);
    if (item.text.empty() && item.operation != ',')
      throw Error(origin.depth == 0 ? ErrorKind::usage : ErrorKind::config,
                  fmt::format("{}: '{}' needs hosts after it", origin.name, item.operation),
                  "for example: @compute!node07, @gpu&@rack1");
    if (item.text.empty()) break;
    if (item.operation == ',') {
      add_item(item.text, origin, own);
      continue;
    }
    HostSet operand;
    add_item(item.text, origin, operand);
    combine(own, item.operation, operand, origin);
  }
  for (Host& host : own.hosts) add_host(std::move(host), origin, into);
}

void HostListParser::combine(HostSet& left, char operation, const HostSet& right,
                             const Origin& origin) {
  HostSet result;
  for (const Host& host : left.hosts)
    if (right.known.contains(name_and_port(host)) == (operation == '&'))
      add_host(host, origin, result);
  if (operation == '^')
    for (const Host& host : right.hosts)
      if (!left.known.contains(name_and_port(host))) add_host(host, origin, result);
  left = std::move(result);
}

void HostListParser::add_item(std::string_view item, const Origin& origin, HostSet& into) {
  if (item == "-") return add_file_items("-", origin, into);
  if (item.front() == '/')
    throw Error(origin.depth == 0 ? ErrorKind::usage : ErrorKind::config,
                fmt::format("{}: {} is not a host; patterns are not known here", origin.name,
                            quoted(printable_text(item))),
                "ranges are, as in node[01-16], and groups, as in @compute");
  if (item.front() == '-') {
    HostSet excluded;
    add_item(item.substr(1), origin, excluded);
    return exclude_all(excluded);
  }
  if (item == "^" || item == "@")
    throw Error(
        origin.depth == 0 ? ErrorKind::usage : ErrorKind::config,
        fmt::format("{}: '{}' needs a {} name", origin.name, item, item == "^" ? "file" : "group"));
  if (item.front() == '^') return add_file_items(std::string(item.substr(1)), origin, into);
  if (item.front() == '@') return add_group_items(std::string(item.substr(1)), origin, into);
  add_names(item, origin, into);
}

void HostListParser::add_group_items(const std::string& name, const Origin& origin, HostSet& into) {
  if (name.find('[') == std::string::npos) return add_one_group(name, origin, into);
  const auto names = expand_host_ranges(name);  // @rack[1-3] are 3 groups
  if (const auto* problem = std::get_if<RangeProblem>(&names))
    throw Error(origin.depth == 0 ? ErrorKind::usage : ErrorKind::config,
                fmt::format("{}: group {}: {}", origin.name, quoted(printable_text(name)),
                            printable_text(problem->message)),
                problem->hint);
  for (const std::string& each : std::get<std::vector<std::string>>(names))
    add_one_group(each, origin, into);
}

void HostListParser::add_one_group(const std::string& name, const Origin& origin, HostSet& into) {
  const GroupNodes group = [&] {
    try {
      return reader_.group(name, origin.source);
    } catch (const Error& error) {
      throw Error(origin.depth == 0 ? ErrorKind::usage : error.kind(),
                  fmt::format("{}: {}", origin.name, error.what()), error.hint());
    }
  }();
  add_items(
      group.list,
      {.name = "group " + printable_text(name), .depth = origin.depth + 1, .source = group.source},
      into);
}

void HostListParser::add_file_items(const std::string& path, const Origin& origin, HostSet& into) {
  const std::string text = reader_.file(path);
  std::string_view rest = text;
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  const std::string name = path == "-" ? "standard input" : printable_text(path);
  add_items(rest, {.name = name, .depth = origin.depth + 1, .lines = rest}, into);
}

void HostListParser::add_names(std::string_view item, const Origin& origin, HostSet& into) {
  SourceLine line{origin.name, 0, item};
  if (!origin.lines.empty()) line = line_around(item, origin.lines, origin.name);
  const auto offset = static_cast<std::size_t>(item.data() - line.text.data());
  try {
    const HostWord word = read_host_word(line, Word{item, offset});
    const int port = word.suffix ? read_number(line, *word.suffix, "a port", kMostPort) : 0;
    for (const std::string& name : word.names) {
      add_host({.name = name,
                .user = std::string(word.user ? word.user->text : std::string_view()),
                .port = port},
               origin, into);
    }
  } catch (const Error& error) {
    if (origin.depth > 0) throw;
    throw Error(ErrorKind::usage, error.what(), error.hint());
  }
}

void HostListParser::add_host(Host host, const Origin& origin, HostSet& into) {
  const auto [known, is_new] = into.known.try_emplace(name_and_port(host), into.hosts.size());
  if (!is_new) {
    std::string& user = into.hosts[known->second].user;
    if (user.empty()) user = host.user;
    if (host.user.empty() || host.user == user) return;
    throw Error(ErrorKind::config,
                fmt::format("{}: {} is named for two users, {} and {}", origin.name, host.name,
                            user, host.user),
                "every host runs the command once; use two commands");
  }
  if (into.hosts.size() == kMaxHosts)
    throw Error(ErrorKind::config, fmt::format("more than {} hosts", kMaxHosts));
  into.hosts.push_back(std::move(host));
}

void HostListParser::exclude_all(const HostSet& set) {
  for (const Host& host : set.hosts) {
    excluded_.insert(host.port == 0 ? host.name : name_and_port(host));
    if (host.port != 0) excluded_somewhere_.insert(host.name);
  }
}

std::vector<Host> HostListParser::hosts() const {
  std::vector<Host> hosts;
  for (const Host& host : hosts_.hosts) {
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

}  // namespace ds::launcher
