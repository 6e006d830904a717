// SlowWire: sleeps for as long as a wire of that speed takes.
#include "engine/comm/slow_wire.h"

#include <algorithm>
#include <charconv>
#include <thread>

#include "engine/base/units.h"

namespace ds {

std::optional<WireSpeed> parse_wire_speed(std::string_view text) {
  constexpr std::string_view kRate = "rate=", kLatency = ",latency=";
  const std::size_t comma = text.find(kLatency);
  if (!text.starts_with(kRate) || comma == std::string_view::npos) return std::nullopt;
  const auto rate = parse_bytes(text.substr(kRate.size(), comma - kRate.size()));
  const std::string_view latency = text.substr(comma + kLatency.size());
  const char* const end = latency.data() + latency.size();
  double ms = -1;
  const auto [unit, error] = std::from_chars(latency.data(), end, ms);
  if (!rate || std::string_view(unit, end) != "ms" || !(ms >= 0 && ms < 1e6)) return std::nullopt;
  const std::chrono::duration<double, std::milli> span(ms);
  return WireSpeed{.bytes_per_second = static_cast<double>(*rate),
                   .latency = std::chrono::duration_cast<Clock::duration>(span)};
}

void SlowWire::carry(std::size_t bytes) {
  const std::chrono::duration<double> span(static_cast<double>(bytes) / speed_.bytes_per_second);
  std::unique_lock lock(mutex_);
  free_at_ = std::max(free_at_, Clock::now()) + std::chrono::duration_cast<Clock::duration>(span);
  const Clock::time_point arrived = free_at_ + speed_.latency;
  lock.unlock();
  std::this_thread::sleep_until(arrived);
}

}  // namespace ds
