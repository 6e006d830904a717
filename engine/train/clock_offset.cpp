// measure_clock_offset(): some exchanges of all ranks with rank 0 at the same time.
#include "engine/train/clock_offset.h"

#include <array>
#include <string>
#include <vector>

#include "engine/base/boot_id.h"

namespace ds {
namespace {

constexpr int kExchanges = 16;  // the best bounds count

/// What rank 0 answers. The boot id names its machine.
struct ClockAnswer {
  std::int64_t time = 0;
  std::array<char, 40> machine{};
};

std::array<char, 40> own_machine() {
  std::array<char, 40> id{};
  boot_id().copy(id.data(), id.size() - 1);
  return id;
}

}  // namespace

ClockOffset measure_clock_offset(Group& world, Deadline deadline) {
  const auto size = static_cast<std::size_t>(world.size());
  const auto now = [] { return nanoseconds_of(Clock::now()); };
  const bool answers = world.rank() == 0;
  const ClockAnswer own{.time = 0, .machine = own_machine()};
  ClockAnswer answer = own;
  std::vector<std::byte> asks(size);
  std::vector<std::span<const std::byte>> ask(size), reply(size);
  std::vector<std::span<std::byte>> asked(size), replied(size);
  for (std::size_t i = 0; i < size && answers; ++i) {
    asked[i] = std::span(asks).subspan(i, 1);
    reply[i] = std::as_bytes(std::span(&answer, 1));
  }
  ask[0] = std::span(asks).first(1);
  replied[0] = std::as_writable_bytes(std::span(&answer, 1));
  world.about("clocks");
  world.barrier(deadline);
  OffsetBounds bounds;
  for (int i = 0; i < kExchanges; ++i) {
    const std::int64_t sent = now();
    world.all_to_all(ask, asked, deadline);
    if (answers) answer.time = now();
    world.all_to_all(reply, replied, deadline);
    bounds.add(sent, answer.time, now());
  }
  const bool is_same = answer.machine == own.machine && own.machine[0] != '\0';
  return is_same && bounds.allows_zero() ? ClockOffset{} : bounds.middle();
}

}  // namespace ds
