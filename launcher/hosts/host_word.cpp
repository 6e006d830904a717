#include "launcher/hosts/host_word.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "launcher/hosts/host_ranges.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kLongestHostWord = 1024;  // limits the expansion of ranges
constexpr std::size_t kLongestName = 255;

[[noreturn]] void fail(const SourceLine& line, std::size_t offset, std::string_view what,
                       std::string hint = {}) {
  throw text_error(line, offset, what, std::move(hint));
}

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view(".-_+").find(c) != std::string_view::npos;
}

/// Returns whether `name` is an IPv6 address, with or without a zone (fe80::1%eth0).
bool is_ipv6(const std::string& name) {
  const std::size_t percent = name.find('%');
  const std::string address = name.substr(0, percent);
  if (address.find('\0') != std::string::npos) return false;  // inet_pton would stop there
  in6_addr ignored{};
  if (inet_pton(AF_INET6, address.c_str(), &ignored) != 1) return false;
  if (percent == std::string::npos) return true;
  const std::string_view zone = std::string_view(name).substr(percent + 1);
  return !zone.empty() && name.size() <= kLongestName &&
         std::all_of(zone.begin(), zone.end(), is_name_character);
}

/// Returns whether `text` begins with an IPv6 address in brackets, not with a range.
bool is_bracketed_address(std::string_view text) {
  return text.front() == '[' && text.substr(0, text.find(']')).find(':') != std::string_view::npos;
}

[[noreturn]] void bad_name_character(const SourceLine& line, Word word, std::size_t at) {
  const char c = word.text[at];
  const std::size_t offset = word.offset + at;
  if (c == ',') fail(line, offset, "',' outside brackets", "write one host or one range per line");
  if (c == '#') fail(line, offset, "'#' inside a word", "a comment needs a space before its '#'");
  if (c == '/') fail(line, offset, "'/' inside a word", "a comment needs a space before its '//'");
  if (c == '*' || c == '{' || c == '?')
    fail(line, offset, fmt::format("a host name cannot contain '{}'", c),
         "name several hosts by a range, for example node[01-16]");
  if (c > ' ' && c < 0x7F) fail(line, offset, fmt::format("a host name cannot contain '{}'", c));
  fail(line, offset,
       fmt::format("a host name cannot contain byte 0x{:02x}", static_cast<unsigned char>(c)),
       "host names are ASCII: letters, digits, '.', '-', '_', '+'");
}

/// Checks the characters outside brackets; the expansion checks those inside.
void check_name_characters(const SourceLine& line, Word word) {
  if (word.text.front() == '-') fail(line, word.offset, "a host name cannot start with '-'");
  if (word.text.front() == '+')
    fail(line, word.offset, "a host name cannot start with '+'",
         "use +nN in --host for host N of the hostfile");
  bool in_brackets = false;
  for (std::size_t i = 0; i < word.text.size(); ++i) {
    const char c = word.text[i];
    if (c == '[' || c == ']') {
      in_brackets = c == '[';
    } else if (!in_brackets && !is_name_character(c)) {
      bad_name_character(line, word, i);
    }
  }
}

/// Reads the expression without user and suffix: names with ranges, or an IPv6 address in brackets.
std::vector<std::string> read_names(const SourceLine& line, Word word) {
  if (is_bracketed_address(word.text) && word.text.back() == ']') {
    const std::string name(word.text.substr(1, word.text.size() - 2));
    if (!is_ipv6(name))
      fail(line, word.offset + 1, fmt::format("{} is not an IPv6 address", quoted(name)));
    return {name};
  }
  check_name_characters(line, word);
  auto expanded = expand_host_ranges(word.text);
  if (const auto* problem = std::get_if<RangeProblem>(&expanded))
    fail(line, word.offset + problem->offset, problem->message, problem->hint);
  auto names = std::get<std::vector<std::string>>(std::move(expanded));
  for (const std::string& name : names) {
    if (name.size() <= kLongestName) continue;
    fail(line, word.offset,
         fmt::format("host name with {} characters; at most {} are allowed", name.size(),
                     kLongestName));
  }
  return names;
}

/// Returns the end of the expression that starts `word`: the ':' of a suffix, or the end of the
/// word.
std::size_t end_of_expression(const SourceLine& line, Word word) {
  if (is_bracketed_address(word.text)) {
    const std::size_t closing = word.text.find(']');
    if (closing == std::string_view::npos) fail(line, word.offset, "unclosed '['", "add a ']'");
    const Word rest = word.part(closing + 1);
    if (!rest.text.empty() && rest.text.front() != ':')
      fail(line, rest.offset, fmt::format("unexpected {}", quoted(rest.text)));
    return closing + 1;
  }
  const std::size_t after_brackets = word.text.rfind(']') + 1;  // npos + 1 is 0.
  const std::size_t colon = word.text.find(':', after_brackets);
  if (colon == std::string_view::npos) return word.text.size();
  if (word.text.find(':', colon + 1) != std::string_view::npos) {
    fail(line, word.offset, fmt::format("{} has more than one ':'", quoted(word.text)),
         "write an IPv6 address in brackets, for example [::1]");
  }
  return colon;
}

}  // namespace

bool may_be_host_name(std::string_view text) {
  constexpr std::size_t kLongest = 253;  // RFC 1035, without the final dot
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
  };
  return !text.empty() && text.size() <= kLongest && text.front() != '-' &&
         std::ranges::all_of(text, allowed);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return text.size() <= kShown ? fmt::format("'{}'", text)
                               : fmt::format("'{}...'", text.substr(0, kShown));
}

std::vector<Word> split_outside_brackets(std::string_view text, std::string_view separators) {
  std::vector<Word> words;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '[' || text[at] == '{') ++depth;
    if (text[at] == ']' || text[at] == '}') depth = std::max(depth - 1, 0);
    if (depth > 0 || separators.find(text[at]) == separators.npos) continue;
    words.push_back({text.substr(start, at - start), start});
    start = at + 1;
  }
  words.push_back({text.substr(start), start});
  return words;
}

HostWord read_host_word(const SourceLine& line, Word word) {
  if (word.text.size() > kLongestHostWord) {
    fail(line, word.offset,
         fmt::format("host with {} characters; at most {} are allowed", word.text.size(),
                     kLongestHostWord));
  }
  HostWord host;
  if (const std::size_t at = word.text.rfind('@'); at != std::string_view::npos) {
    host.user = word.part(0, at);
    read_user(line, *host.user);
    word = word.part(at + 1);
    if (word.text.empty()) fail(line, word.offset, "missing host name after '@'");
  }
  if (word.text.empty()) fail(line, word.offset, "missing host name");
  if (word.text.find('=') != std::string_view::npos) {
    fail(line, word.offset, fmt::format("expected a host name, found {}", quoted(word.text)),
         "a line starts with its host, for example: node01 slots=8");
  }
  const std::size_t end = end_of_expression(line, word);
  if (end < word.text.size()) host.suffix = word.part(end + 1);
  if (end == 0) fail(line, word.offset, "missing host name before ':'");
  host.names = read_names(line, word.part(0, end));
  return host;
}

int read_number(const SourceLine& line, Word word, std::string_view what, int most) {
  int value = 0;
  const char* end = word.text.data() + word.text.size();
  const auto [stop, error] = std::from_chars(word.text.data(), end, value);
  const bool plain = !word.text.empty() && word.text.front() != '-' && stop == end;
  if (!plain || error == std::errc::invalid_argument) {
    fail(line, word.offset, fmt::format("{} must be an integer, not {}", what, quoted(word.text)));
  }
  if (error == std::errc::result_out_of_range || value > most)
    fail(line, word.offset, fmt::format("{} must be at most {}", what, most));
  return value;
}

std::vector<int> read_number_list(const SourceLine& line, Word word, std::string_view what,
                                  int most) {
  std::vector<int> numbers;
  for (Word item : split_outside_brackets(word.text, ",")) {
    item.offset += word.offset;
    const std::size_t dash = item.text.find('-', 1);
    const int low = read_number(line, item.part(0, dash), what, most);
    const int high =
        dash == item.text.npos ? low : read_number(line, item.part(dash + 1), what, most);
    if (high < low)
      fail(line, item.offset, fmt::format("the range {} is reversed", item.text),
           fmt::format("write {}-{}", high, low));
    if (numbers.size() + static_cast<std::size_t>(high - low) >
        2 * static_cast<std::size_t>(kMaxSlots))
      fail(line, item.offset, fmt::format("more numbers than a host can have {}", what));
    for (int value = low; value <= high; ++value) numbers.push_back(value);
  }
  return numbers;
}

// OpenSSH refuses the same characters: a user name may become part of a shell's ProxyCommand.
std::string read_user(const SourceLine& line, Word word) {
  if (word.text.empty()) fail(line, word.offset, "missing user name");
  if (word.text.front() == '-') fail(line, word.offset, "a user name cannot start with '-'");
  for (std::size_t i = 0; i < word.text.size(); ++i) {
    const char c = word.text[i];
    constexpr std::string_view kForbidden = "'`\"$;&<>|(){}\\";
    const bool allowed = c > ' ' && c < 0x7F && kForbidden.find(c) == std::string_view::npos;
    if (!allowed) fail(line, word.offset + i, "a user name cannot contain this character");
  }
  return std::string(word.text);
}

std::string read_address(std::string_view text) {
  if (text.size() > 2 && text.front() == '[' && text.back() == ']')
    text = text.substr(1, text.size() - 2);
  const std::string name(text);
  if (name.find('\0') != std::string::npos) return {};
  in_addr ignored{};
  return is_ipv6(name) || inet_pton(AF_INET, name.c_str(), &ignored) == 1 ? name : std::string();
}

}  // namespace ds::launcher
