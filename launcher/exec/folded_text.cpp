#include "launcher/exec/folded_text.h"

#include <fmt/format.h>

#include "launcher/exec/line_diff.h"
#include "launcher/hosts/fold_names.h"

namespace ds::launcher::exec {
namespace {

// The rule that clush and dshbak print.
constexpr std::string_view kRule = "---------------\n";
constexpr std::string_view kCut = "(the rest of this output was too long and is not kept)\n";
constexpr std::size_t kPiece = std::size_t{64} << 10;

void put_printable(std::string_view bytes, const PutText& put) {
  std::string piece;
  while (!bytes.empty()) {
    piece = bytes.substr(0, kPiece);
    bytes.remove_prefix(piece.size());
    for (char& letter : piece) {
      const auto byte = static_cast<unsigned char>(letter);
      const bool harmless = (byte >= 0x20 && byte != 0x7f) || letter == '\t' || letter == '\n';
      if (!harmless) letter = '?';
    }
    put(piece);
  }
}

std::string nodes_text(const OutputGroup& group, const std::vector<std::string>& names) {
  std::vector<std::string> some;
  for (const int node : group.nodes) some.push_back(names.at(static_cast<std::size_t>(node)));
  const std::string folded = fold_names(some);
  return some.size() == 1 ? folded : fmt::format("{} ({})", folded, some.size());
}

void print_group(const OutputGroup& group, const std::vector<std::string>& names,
                 const PutText& put) {
  put(fmt::format("{0}{1}\n{0}", kRule, nodes_text(group, names)));
  for (const std::string_view part : group.parts) put_printable(part, put);
  if (group.cut) put(kCut);
}

/// Returns the lines of the output without their newlines.
std::vector<std::string_view> lines_of(const OutputGroup& group) {
  std::vector<std::string_view> lines;
  for (std::string_view part : group.parts) {
    while (!part.empty()) {
      const std::size_t newline = part.find('\n');
      lines.push_back(part.substr(0, newline));
      part.remove_prefix(newline + 1);
    }
  }
  return lines;
}

}  // namespace

void print_folded(std::span<const OutputGroup> groups, const std::vector<std::string>& names,
                  const PutText& put) {
  for (const OutputGroup& group : groups) print_group(group, names, put);
}

void print_diff(std::span<const OutputGroup> groups, const std::vector<std::string>& names,
                const PutText& put) {
  if (groups.empty()) return;
  const OutputGroup& most = groups.front();
  if (groups.size() == 1 && most.parts.empty() && !most.cut) return;
  print_group(most, names, put);
  if (groups.size() == 1) return;
  const std::vector<std::string_view> common = lines_of(most);
  for (const OutputGroup& group : groups.subspan(1)) {
    put(fmt::format("--- {}\n+++ {}\n", nodes_text(most, names), nodes_text(group, names)));
    put_printable(line_diff(common, lines_of(group)), put);
    if (group.cut) put(kCut);
  }
}

}  // namespace ds::launcher::exec
