// Words of a hostfile line: the host expression first, then key=value.
#include "launcher/hosts/host_line.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "engine/base/nearest_word.h"
#include "launcher/hosts/host_ranges.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kLongestHostWord = 1024;  // Bounds what a range can multiply.
constexpr std::size_t kLongestName = 255;
constexpr int kMaxPort = 65535;
constexpr std::array<std::string_view, 3> kKeys = {"slots", "port", "user"};

struct Word {
  std::string_view text;
  std::size_t offset = 0;
};

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return text.size() <= kShown ? fmt::format("'{}'", text)
                               : fmt::format("'{}...'", text.substr(0, kShown));
}

/// The words of a line up to a comment. A comment starts at a '#' or '//' that starts a word.
std::vector<Word> split_words(const SourceLine& line) {
  const std::string_view text = line.text;
  std::vector<Word> words;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(" \t", at)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (word.starts_with('#') || word.starts_with("//")) break;
    words.push_back({word, at});
    at = end;
  }
  return words;
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_' || c == '+';
}

/// An IPv6 address, with or without a zone (fe80::1%eth0).
bool is_ipv6(const std::string& name) {
  const std::size_t percent = name.find('%');
  const std::string address = name.substr(0, percent);
  if (address.find('\0') != std::string::npos) return false;  // inet_pton stops there.
  in6_addr ignored{};
  if (inet_pton(AF_INET6, address.c_str(), &ignored) != 1) return false;
  if (percent == std::string::npos) return true;
  const std::string_view zone = std::string_view(name).substr(percent + 1);
  return !zone.empty() && name.size() <= kLongestName &&
         std::all_of(zone.begin(), zone.end(), is_name_character);
}

/// Reads one line into a HostLine; every method throws through fail().
class LineReader {
 public:
  explicit LineReader(const SourceLine& line) : line_(line) {}

  HostLine read(const std::vector<Word>& words) {
    result_.offset = words.front().offset;
    read_host_word(words.front());
    for (std::size_t i = 1; i < words.size(); ++i) read_key_value(words[i]);
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(std::size_t offset, std::string_view what, std::string hint = {}) const {
    throw text_error(line_, offset, what, std::move(hint));
  }

  /// [user@]expression[:slots]
  void read_host_word(Word word) {
    if (word.text.size() > kLongestHostWord) {
      fail(word.offset, fmt::format("a host of {} characters; at most {} are possible",
                                    word.text.size(), kLongestHostWord));
    }
    const std::size_t at = word.text.rfind('@');
    if (at != std::string_view::npos) {
      set_user({word.text.substr(0, at), word.offset});
      word = {word.text.substr(at + 1), word.offset + at + 1};
    }
    if (word.text.empty()) fail(word.offset, "a host name is missing after '@'");
    if (word.text.find('=') != std::string_view::npos) {
      fail(word.offset, fmt::format("{} stands where the host should be", quoted(word.text)),
           "a line starts with its host, as in: node01 slots=8");
    }
    if (is_bracketed_address(word.text)) {
      read_address(word);
    } else {
      read_names(word);
    }
  }

  /// `[` that holds a ':' is an IPv6 address, any other is a range.
  static bool is_bracketed_address(std::string_view text) {
    return text.front() == '[' &&
           text.substr(0, text.find(']')).find(':') != std::string_view::npos;
  }

  void read_address(Word word) {
    const std::size_t closing = word.text.find(']');
    if (closing == std::string_view::npos) fail(word.offset, "'[' is never closed", "add a ']'");
    const std::string name(word.text.substr(1, closing - 1));
    if (!is_ipv6(name)) {
      fail(word.offset + 1, fmt::format("{} is not an IPv6 address", quoted(name)));
    }
    result_.names = {name};
    const Word rest = {word.text.substr(closing + 1), word.offset + closing + 1};
    if (rest.text.empty()) return;
    if (rest.text.front() != ':')
      fail(rest.offset, fmt::format("unexpected {}", quoted(rest.text)));
    set_slots({rest.text.substr(1), rest.offset + 1});
  }

  void read_names(Word word) {
    const std::size_t after_brackets = word.text.rfind(']') + 1;  // npos + 1 is 0.
    const std::size_t colon = word.text.find(':', after_brackets);
    if (colon != std::string_view::npos) {
      if (word.text.find(':', colon + 1) != std::string_view::npos) {
        fail(word.offset, fmt::format("{} has more than one ':'", quoted(word.text)),
             "an IPv6 address stands in brackets, as in [::1] slots=2");
      }
      set_slots({word.text.substr(colon + 1), word.offset + colon + 1});
      word.text = word.text.substr(0, colon);
    }
    if (word.text.empty()) fail(word.offset, "a host name is missing before ':'");
    check_name_characters(word);
    auto expanded = expand_host_ranges(word.text);
    if (const auto* problem = std::get_if<RangeProblem>(&expanded)) {
      fail(word.offset + problem->offset, problem->message, problem->hint);
    }
    result_.names = std::move(std::get<std::vector<std::string>>(expanded));
    for (const std::string& name : result_.names) {
      if (name.size() > kLongestName) {
        fail(word.offset, fmt::format("a host name of {} characters; at most {} are possible",
                                      name.size(), kLongestName));
      }
    }
  }

  /// Outside of brackets; what stands inside is checked by the expansion.
  void check_name_characters(Word word) const {
    if (word.text.front() == '-') {
      fail(word.offset, "a host name cannot start with '-'");
    }
    bool in_brackets = false;
    for (std::size_t i = 0; i < word.text.size(); ++i) {
      const char c = word.text[i];
      if (c == '[' || c == ']') {
        in_brackets = c == '[';
      } else if (!in_brackets && !is_name_character(c)) {
        bad_name_character(word, i);
      }
    }
  }

  [[noreturn]] void bad_name_character(Word word, std::size_t at) const {
    const char c = word.text[at];
    const std::size_t offset = word.offset + at;
    if (c == ',') fail(offset, "',' outside of brackets", "write one host, or one range, a line");
    if (c == '#') fail(offset, "'#' inside a word", "a comment needs a space before its '#'");
    if (c == '/') fail(offset, "'/' inside a word", "a comment needs a space before its '//'");
    if (c > ' ' && c < 0x7F) fail(offset, fmt::format("'{}' cannot be in a host name", c));
    fail(offset,
         fmt::format("byte 0x{:02x} cannot be in a host name", static_cast<unsigned char>(c)),
         "host names are ASCII: letters, digits, '.', '-', '_', '+'");
  }

  void read_key_value(Word word) {
    const std::size_t equals = word.text.find('=');
    const std::string_view key = word.text.substr(0, equals);
    if (equals == std::string_view::npos || key.empty()) {
      fail(word.offset, fmt::format("{} is not key=value", quoted(word.text)),
           "write options without spaces, as in: node01 slots=8 port=2222");
    }
    const Word value = {word.text.substr(equals + 1), word.offset + equals + 1};
    if (key == "slots") return set_slots(value);
    if (key == "port") return set_port(value);
    if (key == "user") return set_user(value);
    const std::string near = nearest_word(key, kKeys);
    fail(word.offset, fmt::format("unknown key {}", quoted(key)),
         near.empty() ? "known keys: slots, port, user" : fmt::format("did you mean '{}'?", near));
  }

  int read_number(Word word, std::string_view what, int most) const {
    int value = 0;
    const char* end = word.text.data() + word.text.size();
    const auto [stop, error] = std::from_chars(word.text.data(), end, value);
    const bool plain = !word.text.empty() && word.text.front() != '-' && stop == end;
    if (!plain || error == std::errc::invalid_argument) {
      fail(word.offset, fmt::format("{} needs a number, not {}", what, quoted(word.text)));
    }
    if (error == std::errc::result_out_of_range || value > most) {
      fail(word.offset, fmt::format("{} can be at most {}", what, most));
    }
    return value;
  }

  void set_slots(Word value) {
    if (result_.slots) {
      fail(value.offset, "slots are given twice", "write either host:N or slots=N, once");
    }
    result_.slots = read_number(value, "slots", kMaxSlots);
    if (*result_.slots == 0) {
      fail(value.offset, "a host needs at least 1 slot",
           "to leave a host out, remove its line or put '#' before it");
    }
  }

  void set_port(Word value) {
    if (result_.port != 0) fail(value.offset, "port is given twice");
    result_.port = read_number(value, "port", kMaxPort);
    if (result_.port == 0) fail(value.offset, "port 0 cannot be connected to");
  }

  /// The characters that OpenSSH refuses too: a user name may end up in a ProxyCommand of a shell.
  void set_user(Word value) {
    if (!result_.user.empty()) {
      fail(value.offset, "user is given twice", "write either user@host or user=NAME, once");
    }
    if (value.text.empty()) fail(value.offset, "a user name is missing");
    if (value.text.front() == '-') fail(value.offset, "a user name cannot start with '-'");
    for (std::size_t i = 0; i < value.text.size(); ++i) {
      const char c = value.text[i];
      constexpr std::string_view kForbidden = "'`\"$;&<>|(){}\\";
      const bool allowed = c > ' ' && c < 0x7F && kForbidden.find(c) == std::string_view::npos;
      if (!allowed) fail(value.offset + i, "this character cannot be in a user name");
    }
    result_.user = value.text;
  }

  SourceLine line_;
  HostLine result_;
};

}  // namespace

std::optional<HostLine> parse_host_line(const SourceLine& line) {
  const std::vector<Word> words = split_words(line);
  if (words.empty()) return std::nullopt;
  return LineReader(line).read(words);
}

}  // namespace ds::launcher
