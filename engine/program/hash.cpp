// hash_of_global_program(): the hash that all ranks compare before the first step.
#include <xxhash.h>

#include "engine/program/passes.h"

namespace ds {

std::string hash_of_global_program(const Program& differentiated, const ShardSpec& spec) {
  const char* order = spec.order == ShardSpec::Order::boundary ? "boundary" : "step";
  const std::string text = fmt::format(
      "world {} virtual {} accum {} order {} stage {} overlap {} tensors {} bucket {} "
      "prefetch {} live {} reuse {} persist {} optimizer {} {}\n{}",
      spec.world_size, spec.virtual_ranks, spec.accum, order, spec.stage, spec.overlap,
      spec.whole_tensors, spec.bucket, spec.prefetch, spec.max_live, spec.reuse_distance,
      spec.persist_below, static_cast<int>(spec.update.type), spec.update.split_master,
      print(differentiated));
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace ds
