// Runs random worlds, one a seed, until so many events have been played.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ds::launcher {

/// Plays the world of a seed: returns what went wrong, and adds to `events`.
using PlayWorld = std::function<std::string(std::uint64_t seed, std::uint64_t& events)>;

/// Checks worlds from seed 1 on until `events` events have been played. DS_RANDOM_EVENTS asks for
/// another number, DS_RANDOM_SEED for another first seed, and DS_RANDOM_SEED alone for that one
/// world. Prints how many worlds and events there were, and of a bad one its seed and how to run it
/// again.
void check_random_worlds(const std::string& test, std::uint64_t events, const PlayWorld& play);

}  // namespace ds::launcher
