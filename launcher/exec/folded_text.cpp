// Headers as clush and dshbak have them.
#include "launcher/exec/folded_text.h"

#include <fmt/format.h>

#include <string_view>

#include "launcher/exec/line_diff.h"
#include "launcher/hosts/fold_names.h"

namespace ds::launcher::exec {
namespace {

constexpr std::string_view kRule = "---------------\n";
constexpr std::string_view kCut = "(the rest of this output is not kept: it is too long)\n";

void append_printable(std::string& text, std::string_view bytes) {
  for (const char letter : bytes) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool harmless = (byte >= 0x20 && byte != 0x7f) || letter == '\t' || letter == '\n';
    text += harmless ? letter : '?';
  }
}

std::string nodes_text(const OutputGroup& group, const std::vector<std::string>& names) {
  std::vector<std::string> some;
  for (const int node : group.nodes) some.push_back(names.at(static_cast<std::size_t>(node)));
  const std::string folded = fold_names(some);
  return some.size() == 1 ? folded : fmt::format("{} ({})", folded, some.size());
}

void append_group(std::string& text, const OutputGroup& group,
                  const std::vector<std::string>& names) {
  text += fmt::format("{0}{1}\n{0}", kRule, nodes_text(group, names));
  for (const std::string_view line : group.lines) {
    append_printable(text, line);
    text += '\n';
  }
  if (group.cut) text += kCut;
}

}  // namespace

std::string folded_text(std::span<const OutputGroup> groups,
                        const std::vector<std::string>& names) {
  std::string text;
  for (const OutputGroup& group : groups) append_group(text, group, names);
  return text;
}

std::string diff_text(std::span<const OutputGroup> groups, const std::vector<std::string>& names) {
  std::string text;
  if (groups.empty()) return text;
  const OutputGroup& most = groups.front();
  if (groups.size() == 1 && most.lines.empty() && !most.cut) return text;
  append_group(text, most, names);
  for (const OutputGroup& group : groups.subspan(1)) {
    text += fmt::format("--- {}\n+++ {}\n", nodes_text(most, names), nodes_text(group, names));
    append_printable(text, line_diff(most.lines, group.lines));
    if (group.cut) text += kCut;
  }
  return text;
}

}  // namespace ds::launcher::exec
