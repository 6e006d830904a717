// Position: where each member of a group is, exchanged after a failure, and the message made from
// it. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "engine/comm/nccl/flight_log.h"

namespace ds::comm {

struct Position {
  // Of the oldest unfinished operation, else of the last one; 0: none issued yet
  std::uint64_t number = 0;
  bool is_collective = true;
  bool waits = false;       // the operation is unfinished and the stream has reached it
  std::string operation{};  // text_of(Flight)
};

Position position_of(const FlightLog& log);

inline constexpr std::size_t kPositionBytes = 256;
using EncodedPosition = std::array<std::byte, kPositionBytes>;
/// Encodes as little-endian, the same on every machine; long names are cut.
EncodedPosition encode(const Position& position);
Position decode_position(std::span<const std::byte, kPositionBytes> bytes);

/// Returns which ranks are behind or do something else. `ranks` are the global ranks of
/// `positions`. Empty when all wait in the same operation.
std::string difference_text(std::span<const int> ranks, std::span<const Position> positions);

}  // namespace ds::comm
