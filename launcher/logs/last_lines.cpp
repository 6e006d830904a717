#include "launcher/logs/last_lines.h"

#include <algorithm>

#include "engine/base/error.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kFirst = 256;

/// Returns what a terminal shows of a line: the text after the last '\r' that is not its end.
std::string_view shown(std::string_view line) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::size_t cr = line.rfind('\r');
  return cr == std::string_view::npos ? line : line.substr(cr + 1);
}

}  // namespace

void LastLines::Tail::put(std::string_view text) {
  const std::size_t surplus =
      bytes.size() + text.size() - std::min(bytes.size() + text.size(), kBytes);
  cut = cut || surplus > 0;
  const std::size_t old = std::min(surplus, bytes.size());
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(old));
  text.remove_prefix(surplus - old);
  const std::size_t needed = bytes.size() + text.size();
  if (needed > bytes.capacity())
    bytes.reserve(std::min(kBytes, std::max({needed, 2 * bytes.capacity(), kFirst})));
  bytes.insert(bytes.end(), text.begin(), text.end());
}

void LastLines::add(int rank, int stream, std::string_view text) {
  if (text.empty()) return;
  DS_ASSERT(rank >= 0 && static_cast<std::size_t>(rank) < tails_.size());
  Tail& tail = tails_[static_cast<std::size_t>(rank)];
  if (tail.open != 0 && tail.open != stream) tail.put("\n");
  tail.put(text);
  tail.open = static_cast<std::int8_t>(text.back() == '\n' ? 0 : stream);
}

std::vector<std::string> LastLines::of(int rank, std::size_t count) const {
  DS_ASSERT(rank >= 0 && static_cast<std::size_t>(rank) < tails_.size());
  const Tail& tail = tails_[static_cast<std::size_t>(rank)];
  std::string_view rest(tail.bytes.data(), tail.bytes.size());
  if (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
  std::vector<std::string> lines;
  while (!tail.bytes.empty() && lines.size() < count) {
    const std::size_t newline = rest.rfind('\n');
    const bool first = newline == std::string_view::npos;
    // A line that has lost its beginning is returned only if there is no other.
    if (first && tail.cut && !lines.empty()) break;
    lines.emplace_back(shown(first ? rest : rest.substr(newline + 1)));
    if (first) break;
    rest = rest.substr(0, newline);
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

}  // namespace ds::launcher
