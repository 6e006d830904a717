// Positions of ranks as bytes, and the text that names the ranks that are behind.
#include "engine/comm/nccl/positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace ds::comm {
namespace {

constexpr std::size_t kHead = 8 + 1 + 1;

// Returns where a rank is, for messages.
std::string place_text(int rank, const Position& position) {
  if (position.operation.empty()) return fmt::format("rank {} has issued nothing", rank);
  if (position.waits)
    return fmt::format("rank {} waits in {} (number {})", rank, position.operation,
                       position.number);
  return fmt::format("rank {} is behind {} (number {})", rank, position.operation, position.number);
}

}  // namespace

Position position_of(const FlightLog& log) {
  if (const Flight* flight = log.oldest()) {
    return {flight->number, flight->is_collective, flight->state == Flight::State::running,
            text_of(*flight)};
  }
  const Flight* last = log.newest();
  if (last == nullptr) return {};
  return {last->number, last->is_collective, false, text_of(*last)};
}

EncodedPosition encode(const Position& position) {
  EncodedPosition bytes{};
  for (std::size_t i = 0; i < 8; ++i)
    bytes[i] = static_cast<std::byte>(position.number >> (8 * i) & 0xff);
  bytes[8] = static_cast<std::byte>((position.waits ? 1 : 0) | (position.is_collective ? 2 : 0));
  const std::size_t length = std::min(position.operation.size(), kPositionBytes - kHead);
  bytes[9] = static_cast<std::byte>(length);
  std::memcpy(bytes.data() + kHead, position.operation.data(), length);
  return bytes;
}

Position decode_position(std::span<const std::byte, kPositionBytes> bytes) {
  Position position;
  for (std::size_t i = 0; i < 8; ++i)
    position.number |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  position.waits = (bytes[8] & std::byte{1}) != std::byte{0};
  position.is_collective = (bytes[8] & std::byte{2}) != std::byte{0};
  const std::size_t length =
      std::min(std::to_integer<std::size_t>(bytes[9]), kPositionBytes - kHead);
  position.operation.assign(reinterpret_cast<const char*>(bytes.data()) + kHead, length);
  return position;
}

// Names the ranks that are furthest behind; if none is, names all ranks when they do different
// things under one number.
std::string difference_text(std::span<const int> ranks, std::span<const Position> positions) {
  // Twice the collectives that it has ended, plus 1 where it waits.
  const auto progress = [](const Position& each) {
    const bool ended = !each.waits || !each.is_collective;
    return 2 * (each.number - (ended || each.number == 0 ? 0 : 1)) + (each.waits ? 1 : 0);
  };
  const auto [least, most] = std::ranges::minmax_element(positions, {}, progress);
  std::string text;
  const auto add = [&](std::size_t i) {
    text += (text.empty() ? "" : ", ") + place_text(ranks[i], positions[i]);
  };
  const bool level = progress(*least) == progress(*most);
  for (std::size_t i = 0; i < positions.size(); ++i)
    if (level || progress(positions[i]) == progress(*least)) add(i);
  if (!level || !std::ranges::all_of(positions, &Position::is_collective)) return text;
  const bool same = std::ranges::all_of(
      positions, [&](const Position& each) { return each.operation == positions[0].operation; });
  return same ? "" : "the ranks issue different operations: " + text;
}

}  // namespace ds::comm
