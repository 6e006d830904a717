// A ring buffer for each rank.
#include "launcher/logs/last_lines.h"

#include <algorithm>
#include <cstring>

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

void LastLines::Ring::grow(std::size_t needed) {
  std::size_t larger = std::max<std::size_t>(capacity, kFirst);
  while (larger < needed && larger < kBytes) larger *= 2;
  if (larger == capacity) return;
  auto moved = std::make_unique_for_overwrite<char[]>(larger);
  const std::string old = text();
  std::memcpy(moved.get(), old.data(), old.size());
  bytes = std::move(moved);
  capacity = static_cast<std::uint32_t>(larger);
  next = size;
}

void LastLines::Ring::put(std::string_view text) {
  if (text.size() > kBytes) {
    text.remove_prefix(text.size() - kBytes);
    cut = true;
  }
  if (size + text.size() > capacity && capacity < kBytes) grow(size + text.size());
  if (next == capacity) next = 0;
  const std::size_t first = std::min<std::size_t>(text.size(), capacity - next);
  std::memcpy(bytes.get() + next, text.data(), first);
  std::memcpy(bytes.get(), text.data() + first, text.size() - first);
  next = static_cast<std::uint32_t>((next + text.size()) % capacity);
  cut = cut || size + text.size() > capacity;
  size = static_cast<std::uint32_t>(std::min<std::size_t>(size + text.size(), capacity));
}

std::string LastLines::Ring::text() const {
  if (size == 0) return {};
  if (size < capacity) return {bytes.get(), size};  // the ring has never wrapped
  std::string whole(bytes.get() + next, capacity - next);
  return whole.append(bytes.get(), next);
}

void LastLines::add(int rank, int stream, std::string_view text) {
  if (text.empty()) return;
  DS_ASSERT(rank >= 0 && static_cast<std::size_t>(rank) < rings_.size());
  Ring& ring = rings_[static_cast<std::size_t>(rank)];
  if (ring.open != 0 && ring.open != stream) ring.put("\n");
  ring.put(text);
  ring.open = static_cast<std::int8_t>(text.back() == '\n' ? 0 : stream);
}

std::vector<std::string> LastLines::of(int rank, std::size_t count) const {
  DS_ASSERT(rank >= 0 && static_cast<std::size_t>(rank) < rings_.size());
  const Ring& ring = rings_[static_cast<std::size_t>(rank)];
  const std::string whole = ring.text();
  std::string_view rest = whole;
  if (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
  std::vector<std::string> lines;
  while (!whole.empty() && lines.size() < count) {
    const std::size_t newline = rest.rfind('\n');
    const bool first = newline == std::string_view::npos;
    // A line that has lost its beginning is returned only if there is no other.
    if (first && ring.cut && !lines.empty()) break;
    lines.emplace_back(shown(first ? rest : rest.substr(newline + 1)));
    if (first) break;
    rest = rest.substr(0, newline);
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

}  // namespace ds::launcher
