#include "unit/fleet/random_runs.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <optional>

namespace ds::launcher {
namespace {

std::optional<std::uint64_t> number_from(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

}  // namespace

void check_random_worlds(const std::string& test, std::uint64_t events, const PlayWorld& play) {
  const auto asked = number_from("DS_RANDOM_EVENTS");
  const auto seed = number_from("DS_RANDOM_SEED");
  const std::uint64_t wanted = asked ? *asked : seed ? 1 : events;
  std::uint64_t played = 0, worlds = 0;
  for (std::uint64_t next = seed.value_or(1); played < wanted; ++next, ++worlds) {
    const std::string problem = play(next, played);
    if (problem.empty()) continue;
    FAIL(fmt::format("seed {}: {}; again: DS_RANDOM_SEED={} unit_fleet -tc='{}'", next, problem,
                     next, test));
  }
  fmt::print("{}: {} worlds from seed {} on, {} events\n", test, worlds, seed.value_or(1), played);
}

}  // namespace ds::launcher
