#include "launcher/disguise/pdsh_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <variant>

#include "engine/base/text_error.h"
#include "launcher/cli/option_table.h"
#include "launcher/hosts/host_ranges.h"
#include "launcher/hosts/host_word.h"

namespace ds::launcher {
namespace {

/// A name as pdsh sorts it: the text before its last number, and that number.
struct NumberedName {
  std::string_view prefix;
  std::string_view digits;
};

NumberedName cut_number(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789") + 1;  // npos + 1 is 0.
  return {name.substr(0, end), name.substr(end)};
}

bool sorts_before(const std::string& a, const std::string& b) {
  const NumberedName left = cut_number(a), right = cut_number(b);
  if (left.prefix != right.prefix) return left.prefix < right.prefix;
  const auto value = [](std::string_view digits) {
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
  };
  const std::string_view one = value(left.digits), other = value(right.digits);
  if (one.size() != other.size()) return one.size() < other.size();
  return one != other ? one < other : left.digits.size() < right.digits.size();
}

}  // namespace

std::vector<std::string> pdsh_expanded(std::string_view item, std::string_view origin,
                                       std::string_view program) {
  const auto names = expand_host_ranges(item);
  if (const auto* problem = std::get_if<RangeProblem>(&names))
    usage_error(fmt::format("{}: {} {}: {}", program, origin, quoted(printable_text(item)),
                            printable_text(problem->message)),
                problem->hint);
  return std::get<std::vector<std::string>>(names);
}

void sort_as_pdsh(std::vector<std::string>& names) {
  std::ranges::sort(names, sorts_before);
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

std::string pdsh_ranges(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t at = 0; at < names.size();) {
    const NumberedName first = cut_number(names[at]);
    std::string ranges;
    std::size_t count = 0;
    while (at < names.size()) {
      const NumberedName next = cut_number(names[at]);
      if (next.prefix != first.prefix || next.digits.empty() || next.digits.size() > 18) break;
      std::string_view end = next.digits;
      const long from = std::stol(std::string(end));
      long to = from;
      for (++at, ++count; at < names.size(); ++at, ++count) {
        const NumberedName more = cut_number(names[at]);
        if (more.prefix != first.prefix ||
            more.digits != fmt::format("{:0{}}", to + 1, next.digits.size()))
          break;
        ++to;
        end = more.digits;
      }
      ranges += fmt::format("{}{}", ranges.empty() ? "" : ",", next.digits);
      if (to > from) ranges += fmt::format("-{}", end);
    }
    if (!text.empty()) text += ",";
    if (count == 0)
      text += names[at++];
    else if (count == 1)
      text += fmt::format("{}{}", first.prefix, ranges);
    else
      text += fmt::format("{}[{}]", first.prefix, ranges);
  }
  return text;
}

}  // namespace ds::launcher
