// Source of the order and of the ranges:  the Perl program dshbak of pdsh 2.34. Its order of hosts
// with equal numbers is random; here it is that of their names.
#include "launcher/disguise/dshbak.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "launcher/cli/option_table.h"
#include "launcher/disguise/disguise.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kRule = "----------------\n";
constexpr std::string_view kSpaces = " \t\n\r\f\v";
constexpr std::string_view kDigits = "0123456789";

constexpr ForeignDef<DshbakWords> kDshbakOptions[] = {
    {{"-c", "", Fate::taken, "print equal outputs once, below the names of their hosts"},
     take_flag<&DshbakWords::coalesce>},
    {{"-d", "DIR", Fate::taken, "write each host's output to a file in DIR"},
     [](DshbakWords& part, const ForeignGiven& given) { part.folder = given.values[0]; }},
    {{"-f", "", Fate::taken, "with -d, create DIR"}, take_flag<&DshbakWords::make_folder>},
    {{"-h", "", Fate::taken, "print this help"}},
};

constexpr std::span<const ForeignDef<DshbakWords>> kDshbakTable(kDshbakOptions);

std::string_view last_digits(std::string_view name) {
  return name.substr(name.find_last_not_of(kDigits) + 1);  // npos + 1 is 0.
}

/// Returns the value of the digits; numbers beyond 64 bits are all equal.
std::uint64_t value_of(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc::result_out_of_range ? UINT64_MAX : value;
}

void sort_by_number(std::vector<std::string>& names) {
  std::ranges::sort(names);
  std::ranges::stable_sort(names, {},
                           [](const std::string& name) { return value_of(last_digits(name)); });
}

/// The ranges of names with one beginning.
struct Ranges {
  struct Range {
    std::string from{}, to{};  // `to` is empty for one number
  };
  std::vector<Range> ranges{};
  std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> at{};  // width, last number -> index

  void add(std::string_view digits) {
    const bool padded = digits.starts_with('0') && digits != "0";
    const std::size_t width = padded ? digits.size() : 1;
    const std::uint64_t number = value_of(digits);
    auto before = at.find({width, number - 1});
    // 10 follows 9, and 09 too.
    if (before == at.end() && width == 1) before = at.find({digits.size(), number - 1});
    std::size_t index = ranges.size();
    if (before != at.end() && number != 0)
      ranges[index = before->second].to = digits;
    else
      ranges.push_back({std::string(digits)});
    at[{width, number}] = index;
  }
  [[nodiscard]] std::string text() const {
    std::string text;
    for (const Range& range : ranges)
      text += fmt::format("{}{}{}{}", text.empty() ? "" : ",", range.from,
                          range.to.empty() ? "" : "-", range.to);
    const bool single = ranges.size() == 1 && ranges[0].to.empty();
    return single ? text : fmt::format("[{}]", text);
  }
};

std::string block(const std::string& hosts, const std::string& text) {
  return fmt::format("{0}{1}\n{0}{2}", kRule, hosts, text);
}

}  // namespace

DshbakWords read_dshbak(std::span<const std::string> words) {
  const std::vector<ForeignOption> shapes = shapes_of(kDshbakTable);
  const ForeignWords read = read_foreign("dshbak", shapes, Spelling::getopt, words);
  DshbakWords dshbak;
  apply_foreign(kDshbakTable, read, dshbak);
  const auto rest = words.subspan(read.rest);
  dshbak.files.assign(rest.begin(), rest.end());
  if (dshbak.coalesce && dshbak.folder)
    usage_error("dshbak: -c and -d cannot be combined", "give only one of them");
  if (dshbak.make_folder && !dshbak.folder)
    usage_error("dshbak: -f needs -d DIR", "for example: dshbak -d out -f");
  return dshbak;
}

std::vector<ForeignOption> dshbak_options() { return shapes_of(kDshbakTable); }

// As the expression ^\s*(\S+?)\s*: ?(.*\n)$
void HostLines::add(std::string_view line) {
  if (!line.ends_with('\n')) return;
  line.remove_prefix(std::min(line.find_first_not_of(kSpaces), line.size()));
  const std::size_t end = std::min(line.find_first_of(kSpaces), line.size());
  for (std::size_t length = 1; length <= end; ++length) {
    if (length < end && line[length] != ':') continue;
    const std::size_t colon = line.find_first_not_of(kSpaces, length);
    if (colon == std::string_view::npos || line[colon] != ':') return;
    std::string_view text = line.substr(colon + 1);
    if (text.starts_with(' ')) text.remove_prefix(1);
    texts_[std::string(line.substr(0, length))] += text;
    return;
  }
}

std::string HostLines::text(bool coalesce) const {
  std::vector<std::string> names;
  for (const auto& [name, text] : texts_) names.push_back(name);
  sort_by_number(names);
  std::string all;
  if (!coalesce) {
    for (const std::string& name : names) all += block(name, texts_.at(name));
    return all;
  }
  std::unordered_map<std::string_view, std::size_t> known;  // text -> index in groups
  std::vector<std::vector<std::string>> groups;
  for (const std::string& name : names) {
    const auto [at, is_new] = known.try_emplace(texts_.at(name), groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(name);
  }
  for (const std::vector<std::string>& group : groups)
    all += block(dshbak_ranges(group), texts_.at(group.front()));
  return all;
}

std::string dshbak_ranges(std::vector<std::string> names) {
  sort_by_number(names);
  // What follows the last digit of a name, in the order of the first such names.
  std::vector<std::pair<std::string, std::map<std::string, Ranges>>> suffixes;
  for (const std::string& name : names) {
    const std::size_t end = name.find_last_of(kDigits) + 1;  // npos + 1 is 0.
    const std::string suffix = name.substr(end);
    auto at = std::ranges::find(suffixes, suffix, [](const auto& pair) { return pair.first; });
    if (at == suffixes.end()) at = suffixes.insert(suffixes.end(), {suffix, {}});
    const std::string_view rest = std::string_view(name).substr(0, end);
    const std::string_view digits = last_digits(rest);
    at->second[std::string(rest.substr(0, rest.size() - digits.size()))].add(digits);
  }
  std::string text;
  for (const auto& [suffix, beginnings] : suffixes)
    for (const auto& [beginning, ranges] : beginnings)
      text += fmt::format("{}{}{}{}", text.empty() ? "" : ",", beginning, ranges.text(), suffix);
  return text;
}

}  // namespace ds::launcher
