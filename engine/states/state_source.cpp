// Fills new weights with random numbers.
#include "engine/states/state_source.h"

#include <xxhash.h>

#include <algorithm>

#include "engine/tensor/philox.h"

namespace ds {
namespace {

/// Fills with numbers uniform in [-bound, bound): element e has word e % 4 of counter e / 4.
void fill_uniform(std::span<float> into, std::int64_t first, float bound, std::uint64_t seed,
                  std::uint64_t key) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  for (std::size_t i = 0; i < into.size(); ++i) {
    const auto element = static_cast<std::uint64_t>(first) + i;
    const std::uint64_t counter = element / 4;
    const auto words = philox({low(counter), low(counter >> 32), low(key), low(key >> 32)},
                              {low(seed), low(seed >> 32)});
    const auto fraction = static_cast<float>(words[element % 4] >> 8) * 0x1p-23F - 1.0F;
    into[i] = fraction * bound;
  }
}

}  // namespace

void NewWeights::read(const ParamTensor& tensor, std::string_view /*state*/, std::int64_t first,
                      std::span<float> into) {
  const std::uint64_t key = XXH3_64bits(tensor.name.data(), tensor.name.size());
  if (tensor.init.kind == ParamInit::Kind::uniform)
    return fill_uniform(into, first, tensor.init.bound, seed_, key);
  std::ranges::fill(into, tensor.init.kind == ParamInit::Kind::ones ? 1.0F : 0.0F);
  if (tensor.init.kind != ParamInit::Kind::normal) return;
  kernels_.run(FillNormal{.out = {into.data(), DType::f32, {std::ssize(into)}},
                          .standard_deviation = tensor.init.standard_deviation,
                          .seed = seed_,
                          .key = key,
                          .first_element = first},
               stream_);
  stream_.synchronize();
  if (tensor.init.first_columns == 0) return;
  const std::int64_t columns = tensor.shape[1];
  for (std::int64_t i = 0; i < std::ssize(into); ++i)
    if ((first + i) % columns < tensor.init.first_columns)
      into[static_cast<std::size_t>(i)] *= tensor.init.factor;
}

}  // namespace ds
