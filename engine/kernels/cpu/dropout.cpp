// Dropout of activations, and the Philox keys of all dropouts.
#include "engine/kernels/cpu/dropout.h"

#include "engine/kernels/cpu/ops.h"
#include "engine/tensor/philox.h"

namespace ds::cpu {
namespace {

constexpr std::int64_t kElementsPerTask = 32 << 10;  // a multiple of 64

constexpr std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
constexpr std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

}  // namespace

// Philox has 64 bits of key and 128 bits of counter. The Philox key is (key, step) encrypted under
// the seed; the counter is (element, sample).
DropoutKey dropout_key(const DropoutDraw& draw, std::int64_t index) {
  DS_ASSERT(draw.rate > 0 && draw.rate <= 1 && draw.samples.dtype == DType::i64);
  const auto words = philox({low(draw.key), high(draw.key), low(draw.step), high(draw.step)},
                            {low(draw.seed), high(draw.seed)});
  const std::int64_t sample = static_cast<const std::int64_t*>(draw.samples.data)[index];
  return {.philox = {words[0], words[1]},
          .sample = static_cast<std::uint64_t>(sample),
          .threshold = draw.rate * 0x1p24F,
          .scale = 1.0F / (1.0F - draw.rate)};
}

template <>
void run(const Context& c, const Dropout& a) {
  const std::int64_t n = a.in.elements(), samples = a.draw.samples.elements();
  DS_ASSERT(samples > 0 && n % samples == 0 && a.out.elements() == n);
  const std::int64_t each = n / samples, pieces = ceil_div(each, kElementsPerTask);
  const ActKernels& act = c.act(a.in.dtype);
  c.pool.parallel_for(samples * pieces, [&](std::int64_t task, int) {
    const std::int64_t sample = task / pieces, first = task % pieces * kElementsPerTask;
    const std::int64_t from = sample * each + first;
    act.dropout(dropout_key(a.draw, sample), first, at(a.in.data, a.in.dtype, from),
                at(a.out.data, a.out.dtype, from), std::min(kElementsPerTask, each - first));
  });
}

}  // namespace ds::cpu
