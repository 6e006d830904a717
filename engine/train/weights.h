// Weights as logical tensors: how they start, and one hash of them all.
#pragma once

#include <cstdint>
#include <string>

#include "engine/kernels/kernels.h"
#include "engine/train/executor.h"

namespace ds {

/// Fills master weights from the tensors' ParamInit and casts them to the activation type. Random
/// numbers are keyed by (seed, tensor name, element), so every rank and every world size makes the
/// same.
void initialise_weights(const Program& step, const Executor& executor, std::uint64_t seed,
                        Kernels& kernels, Stream& stream);

/// Hash of the f32 master weights in logical order (tensor by tensor, without padding): 32
/// hexadecimal digits of XXH3-128. Independent of how the weights are sharded.
std::string weights_hash(const Program& step, const Executor& executor);

/// Elements of all logical tensors.
std::int64_t parameter_count(const Program& program);

}  // namespace ds
