// A GPT-2 small enough to inspect, and specs of steps, for the tests of the passes.
#pragma once

#include "engine/models/gpt2.h"
#include "engine/program/passes.h"

namespace ds::test {

inline ModelConfig tiny_config() {
  ModelConfig config;
  config.layers = 2;
  config.hidden = 16;
  config.heads = 2;
  config.ffn = 64;
  config.vocab = 64;
  return config;
}

inline Program tiny_forward(DType act = DType::f32) {
  return build_gpt2(tiny_config(), {.micro = 2, .seq_len = 4, .valid_vocab = 60, .act = act});
}

inline ShardSpec spec_of(int rank, int world, int virtual_ranks, int accum,
                         ShardSpec::Order order) {
  return {.rank = rank,
          .world_size = world,
          .virtual_ranks = virtual_ranks,
          .accum = accum,
          .order = order};
}

}  // namespace ds::test
