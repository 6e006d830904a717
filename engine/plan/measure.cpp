// Measures memory and link rates: the best of several passes over arrays larger than any cache.
#include "engine/plan/measure.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace ds {
namespace {

constexpr std::size_t kElements = std::size_t{16} << 20;
constexpr int kPasses = 8;

void triad(float* a, const float* b, const float* c, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) a[i] = b[i] + 0.5F * c[i];
}

constexpr std::size_t kLinkBytes = std::size_t{32} << 20;  // in each direction

}  // namespace

double measure_link_rate(Device& device) {
  const auto near = device.allocate(Tier::device, 2 * kLinkBytes);
  const auto far = device.allocate(Tier::pinned_host, 2 * kLinkBytes);
  const auto in = device.make_side_stream("in"), out = device.make_side_stream("out");
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    device.copy(near->data(), far->data(), kLinkBytes, *in);
    device.copy(far->data() + kLinkBytes, near->data() + kLinkBytes, kLinkBytes, *out);
    in->synchronize();
    out->synchronize();
    const std::chrono::duration<double> span = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(kLinkBytes) / span.count());
  }
  return best;
}

double measure_memory_rate() {
  std::vector<float> a(kElements, 0.0F), b(kElements, 1.0F), c(kElements, 2.0F);
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> workers;
    for (std::size_t t = 0; t < threads; ++t)
      workers.emplace_back(triad, a.data(), b.data(), c.data(), kElements * t / threads,
                           kElements * (t + 1) / threads);
    for (std::thread& worker : workers) worker.join();
    const std::chrono::duration<double> span = std::chrono::steady_clock::now() - start;
    best = std::max(best, 4.0 * sizeof(float) * static_cast<double>(kElements) / span.count());
  }
  return best;
}

}  // namespace ds
