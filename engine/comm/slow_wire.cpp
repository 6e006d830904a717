// SlowWire: sleeps for as long as a wire of that speed takes.
#include "engine/comm/slow_wire.h"

#include <algorithm>
#include <charconv>
#include <thread>

#include "engine/base/units.h"

namespace ds {
namespace {

std::optional<Clock::duration> parse_span(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || !(value >= 0 && value < 1e6)) return std::nullopt;
  const double scale = unit == "us" ? 1e-6 : unit == "ms" ? 1e-3 : unit == "s" ? 1 : 0;
  if (scale == 0) return std::nullopt;
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(value * scale));
}

}  // namespace

std::optional<WireSpeed> parse_wire_speed(std::string_view text) {
  constexpr std::string_view kRate = "rate=", kLatency = ",latency=";
  const std::size_t comma = text.find(kLatency);
  if (!text.starts_with(kRate) || comma == std::string_view::npos) return std::nullopt;
  const auto rate = parse_bytes(text.substr(kRate.size(), comma - kRate.size()));
  const auto latency = parse_span(text.substr(comma + kLatency.size()));
  if (!rate || !latency) return std::nullopt;
  return WireSpeed{.bytes_per_second = static_cast<double>(*rate), .latency = *latency};
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
