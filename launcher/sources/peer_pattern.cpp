// Parsers for --peers and --nnodes.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "engine/base/split.h"
#include "engine/base/text_error.h"
#include "launcher/hosts/host_ranges.h"
#include "launcher/hosts/host_word.h"
#include "launcher/sources/peers.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kForm =
    "for example: --peers 'gpt-{0..3}.gpt', or gpt-[0-3].gpt, or a,b,c";
constexpr std::size_t kMaxPeers = 65536;

class PatternReader {
 public:
  explicit PatternReader(const SourceLine& line) : line_(line) {}

  std::vector<std::string> names() {
    std::vector<std::string> names;
    std::set<std::string> known;
    for (const Word& item : split_outside_brackets(line_.text, ", \n")) {
      const bool at_blank = item.offset < line_.text.size() && line_.text[item.offset] != ',';
      if (item.text.empty() && at_blank) continue;
      if (item.text.empty()) fail(item.offset, "missing name");
      for (std::string& name : item_names(item)) {
        if (!known.insert(name).second) fail(item.offset, fmt::format("'{}' is named twice", name));
        names.push_back(std::move(name));
      }
      if (names.size() > kMaxPeers) fail(item.offset, "more than 65536 names");
    }
    if (names.empty()) fail(0, "no name is given");
    return names;
  }

 private:
  [[noreturn]] void fail(std::size_t offset, std::string_view what) const {
    throw text_error(line_, offset, what, std::string(kForm));
  }

  /// Expands one item. Hostfile brackets come last, because braces may have inserted text into
  /// them.
  std::vector<std::string> item_names(Word item) {
    std::vector<std::string> starts = {""};
    std::size_t at = 0;
    while (at < item.text.size()) {
      const std::size_t open = item.text.find_first_of("{}", at);
      append(starts, item.offset, {std::string(item.text.substr(at, open - at))});
      if (open == std::string_view::npos) break;
      if (item.text[open] == '}') fail(item.offset + open, "'}' without a '{' before it");
      const std::size_t close = item.text.find('}', open);
      if (close == std::string_view::npos) fail(item.offset + open, "unclosed '{'");
      append(starts, item.offset + open, choices(item.part(open + 1, close - open - 1)));
      at = close + 1;
    }
    std::vector<std::string> names;
    for (const std::string& name : starts) {
      // After braces were replaced, offsets no longer match; errors then point at the item's start.
      const SourceLine own{line_.file, 0, name};
      const bool same = name == item.text;
      const HostWord word = same ? read_host_word(line_, item) : read_host_word(own, {name, 0});
      if (word.user || word.suffix) fail(item.offset, "a peer cannot have a user, port or slots");
      names.insert(names.end(), word.names.begin(), word.names.end());
      if (names.size() > kMaxPeers) fail(item.offset, "more than 65536 names");
    }
    return names;
  }

  void append(std::vector<std::string>& starts, std::size_t offset,
              const std::vector<std::string>& ends) {
    if (starts.size() * ends.size() > kMaxPeers) fail(offset, "more than 65536 names");
    starts = combined(starts, ends);
  }

  /// Returns the alternatives in braces: `0..3`, or words separated by commas.
  std::vector<std::string> choices(Word inside) {
    if (inside.text.find('{') != std::string_view::npos)
      fail(inside.offset + inside.text.find('{'), "braces cannot be nested");
    if (inside.text.find("..") != std::string_view::npos) return range(inside);
    std::vector<std::string> words;
    for (const std::string_view word : split(inside.text, ',')) {
      if (word.empty())
        fail(inside.offset + static_cast<std::size_t>(word.data() - inside.text.data()),
             "missing word in braces");
      words.emplace_back(word);
    }
    if (words.size() == 1)
      fail(inside.offset, "braces contain a range such as {0..3} or words such as {a,b}");
    return words;
  }

  std::vector<std::string> range(Word inside) {
    const std::size_t dots = inside.text.find("..");
    const unsigned long low = number(inside.part(0, dots));
    const unsigned long high = number(inside.part(dots + 2));
    if (high < low) fail(inside.offset, fmt::format("the range {} is reversed", inside.text));
    if (high - low >= kMaxPeers) fail(inside.offset, "more than 65536 names");
    const std::size_t width = inside.text.starts_with('0') ? dots : 0;
    std::vector<std::string> numbers;
    for (unsigned long value = low; value <= high; ++value)
      numbers.push_back(fmt::format("{:0{}}", value, width));
    return numbers;
  }

  unsigned long number(Word word) {
    unsigned long value = 0;
    const char* end = word.text.data() + word.text.size();
    const auto [stop, error] = std::from_chars(word.text.data(), end, value);
    if (word.text.empty() || word.text.size() > 18 || error != std::errc() || stop != end)
      fail(word.offset, fmt::format("'{}' is not a number", word.text));
    return value;
  }

  SourceLine line_;
};

}  // namespace

std::vector<std::string> expand_peers(std::string_view option, std::string_view text) {
  try {
    return PatternReader({option, 0, text}).names();
  } catch (const Error& error) {
    throw Error(ErrorKind::usage, error.what(),
                error.hint().empty() ? std::string(kForm) : error.hint());
  }
}

NodeCount parse_node_count(std::string_view option, std::string_view text) {
  constexpr int kMaxNodes = 65536;
  const auto number = [&](std::string_view part) {
    int value = 0;
    const char* const end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data(), end, value);
    if (error != std::errc() || stop != end || value < 1 || value > kMaxNodes)
      throw Error(ErrorKind::usage,
                  fmt::format("{} must be a number of nodes from 1 to {}, not '{}'", option,
                              kMaxNodes, printable_text(text)),
                  fmt::format("for example {} 4, or {} 2:4 for 2 to 4 nodes", option, option));
    return value;
  };
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {number(text), number(text)};
  const NodeCount count{number(text.substr(0, colon)), number(text.substr(colon + 1))};
  if (count.least > count.most)
    throw Error(
        ErrorKind::usage,
        fmt::format("{}: minimum {} is more than maximum {}", option, count.least, count.most),
        fmt::format("give the smaller number first: {} {}:{}", option, count.most, count.least));
  return count;
}

}  // namespace ds::launcher
