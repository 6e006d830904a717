// Initialising and hashing weights.
#include "engine/train/weights.h"

#include <xxhash.h>

#include <algorithm>
#include <memory>

namespace ds {
namespace {

Tensor master_of(const ParamGroup& group, const ParamTensor& tensor, const Executor& executor) {
  const Tensor flat = executor.tensor(group.master);
  return {static_cast<float*>(flat.data) + tensor.offset, DType::f32, {tensor.shape.elements()}};
}

}  // namespace

void initialise_weights(const Program& step, const Executor& executor, std::uint64_t seed,
                        Kernels& kernels, Stream& stream) {
  for (const ParamGroup& group : step.groups) {
    for (const ParamTensor& tensor : group.tensors) {
      const Tensor master = master_of(group, tensor, executor);
      auto* data = static_cast<float*>(master.data);
      switch (tensor.init.kind) {
        case ParamInit::Kind::zeros:
          std::fill_n(data, master.elements(), 0.0F);
          break;
        case ParamInit::Kind::ones:
          std::fill_n(data, master.elements(), 1.0F);
          break;
        case ParamInit::Kind::normal:
          kernels.run(FillNormal{.out = master,
                                 .standard_deviation = tensor.init.standard_deviation,
                                 .seed = seed,
                                 .key = XXH3_64bits(tensor.name.data(), tensor.name.size())},
                      stream);
      }
    }
    if (group.weights != group.master) {
      const Tensor weights = executor.tensor(group.weights);
      kernels.run(Cast{.in = executor.tensor(group.master), .out = weights}, stream);
    }
  }
  stream.synchronize();
}

std::string weights_hash(const Program& step, const Executor& executor) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       XXH3_freeState);
  XXH3_128bits_reset(state.get());
  for (const ParamGroup& group : step.groups) {
    for (const ParamTensor& tensor : group.tensors) {
      const Tensor master = master_of(group, tensor, executor);
      XXH3_128bits_update(state.get(), master.data, static_cast<std::size_t>(master.bytes()));
    }
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::int64_t parameter_count(const Program& program) {
  std::int64_t count = 0;
  for (const ParamGroup& group : program.groups) {
    for (const ParamTensor& tensor : group.tensors) count += tensor.shape.elements();
  }
  return count;
}

}  // namespace ds
