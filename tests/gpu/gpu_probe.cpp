// Prints the device's properties that run.sh needs, as lines "key value".
// Usage: gpu_probe [--peak | --touch]
//   (nothing)  the plugin's report and the number of devices; exits with 77 if there are none
//   --touch    one small operation there and back: the minimum for compute-sanitizer to check
//   --peak     five measurements each of the bf16 matrix rate and of copies
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plugin/plugin.h"

namespace {

using namespace ds;  // NOLINT: a test program
using BenchClock = std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr int kNoDevice = 77;

void print_spread(const char* what, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  fmt::print("{} {:.6g} {:.6g} {:.6g}\n", what, values[values.size() / 2], values.front(),
             values.back());
}

/// Prints the bytes per second that `copy` moves: median, minimum and maximum.
void measure_copies(const char* what, double bytes, Stream& stream,
                    const std::function<void()>& copy) {
  std::vector<double> rates;
  for (int round = 0; round <= kRounds; ++round) {
    const auto start = BenchClock::now();
    copy();
    stream.synchronize();
    const std::chrono::duration<double> spent = BenchClock::now() - start;
    if (round > 0) rates.push_back(bytes / spent.count());  // the first round touches memory
  }
  print_spread(what, rates);
}

void copies(Device& device) {
  const std::size_t size = std::min(std::size_t{1} << 30, device.free_bytes(Tier::device) / 16);
  const auto stream = device.make_stream();
  const auto a = device.allocate(Tier::device, size), b = device.allocate(Tier::device, size);
  const auto host = device.allocate(Tier::pinned_host, size);
  const auto bytes = static_cast<double>(size);
  device.zero(a->data(), size, *stream);
  // A copy inside the device both reads and writes its memory.
  measure_copies("device_copy_bytes_per_s", 2 * bytes, *stream,
                 [&] { device.copy(b->data(), a->data(), size, *stream); });
  measure_copies("to_device_bytes_per_s", bytes, *stream,
                 [&] { device.copy(a->data(), host->data(), size, *stream); });
  measure_copies("to_host_bytes_per_s", bytes, *stream,
                 [&] { device.copy(host->data(), a->data(), size, *stream); });
}

void peak(Backend& backend) {
  std::vector<double> rates;
  backend.kernels->measure_matrix_peak(DType::bf16);  // loads the library and warms up the device
  for (int round = 0; round < kRounds; ++round) {
    rates.push_back(backend.kernels->measure_matrix_peak(DType::bf16));
  }
  print_spread("bf16_flops", rates);
}

/// Adds two vectors and checks every element.
bool touch(Backend& backend) {
  constexpr std::int64_t kElements = 1003;
  constexpr std::size_t kBytes = kElements * sizeof(float);
  Device& device = *backend.device;
  const auto stream = device.make_stream();
  const auto host = device.allocate(Tier::pinned_host, kBytes);
  const auto here = device.allocate(Tier::device, kBytes);
  auto* values = reinterpret_cast<float*>(host->data());
  for (std::int64_t i = 0; i < kElements; ++i) values[i] = static_cast<float>(i);
  device.copy(here->data(), values, kBytes, *stream);
  const Tensor all{here->data(), DType::f32, {kElements}};
  backend.kernels->run(Add{.a = all, .b = all, .out = all}, *stream);
  device.copy(values, here->data(), kBytes, *stream);
  stream->synchronize();
  for (std::int64_t i = 0; i < kElements; ++i) {
    if (values[i] != static_cast<float>(2 * i)) return false;
  }
  return true;
}

int run(const Plugin& plugin, std::string_view what) {
  fmt::print("{}\n", plugin.report());
  fmt::print("device_count {}\n", plugin.device_count());
  if (plugin.device_count() == 0) return kNoDevice;
  if (what.empty()) return 0;
  Backend backend = plugin.make_backend(AcceleratorOptions{});
  fmt::print("device {}\n", backend.device->description());
  const std::size_t bytes = backend.kernels->workspace_bytes(
      {.micro = 1, .seq_len = 4096, .width = 4096, .ffn = 4096, .act = DType::bf16});
  const auto workspace = backend.device->allocate(Tier::device, bytes);
  backend.kernels->set_workspace(workspace->data(), bytes);
  if (what == "--touch") {
    const bool right = touch(backend);
    fmt::print("touch {}\n", right ? "right" : "WRONG");
    return right ? 0 : 1;
  }
  peak(backend);
  copies(*backend.device);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (argc > 2 || (!what.empty() && what != "--touch" && what != "--peak")) {
    fmt::print(stderr, "usage: gpu_probe [--touch | --peak]\n");
    return 64;
  }
  try {
    return run(open_cuda_plugin(), what);
  } catch (const Error& error) {
    fmt::print(stderr, "gpu_probe: {}\n", error.for_people());
    return 1;
  }
}
