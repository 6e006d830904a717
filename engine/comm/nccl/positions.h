// Where each member of a group is, told to the others after a failure; and what follows for people.
// Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "engine/comm/nccl/flight_log.h"

namespace ds::comm {

struct Position {
  std::uint64_t number = 0;  // of the oldest unfinished operation, else of the last; 0: none yet
  bool is_collective = true;
  bool waits = false;       // it is unfinished, and the stream has got there
  std::string operation{};  // text_of(Flight)
};

Position position_of(const FlightLog& log);

inline constexpr std::size_t kPositionBytes = 256;
using EncodedPosition = std::array<std::byte, kPositionBytes>;
/// Little-endian, the same on every machine; long names are cut.
EncodedPosition encode(const Position& position);
Position decode_position(std::span<const std::byte, kPositionBytes> bytes);

/// `ranks` are the global ranks of `positions`. Empty: they tell nothing, all wait in the same
/// operation.
std::string difference_text(std::span<const int> ranks, std::span<const Position> positions);

}  // namespace ds::comm
