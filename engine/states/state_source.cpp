// Fills new weights with random numbers.
#include "engine/states/state_source.h"

#include <xxhash.h>

#include <algorithm>

namespace ds {

void NewWeights::read(const ParamTensor& tensor, std::string_view /*state*/, std::int64_t first,
                      std::span<float> into) {
  std::ranges::fill(into, tensor.init.kind == ParamInit::Kind::ones ? 1.0F : 0.0F);
  if (tensor.init.kind != ParamInit::Kind::normal) return;
  kernels_.run(FillNormal{.out = {into.data(), DType::f32, {std::ssize(into)}},
                          .standard_deviation = tensor.init.standard_deviation,
                          .seed = seed_,
                          .key = XXH3_64bits(tensor.name.data(), tensor.name.size()),
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
