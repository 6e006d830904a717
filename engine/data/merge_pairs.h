// merge_pairs(): joins Megatron's pairs of files into one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ds {

struct PairFacts {
  std::int64_t documents = 0, tokens = 0;
};

/// Writes NAME.bin and NAME.idx with the documents of `parts` (their .bin) in order; both appear
/// whole. Errors: Error{config}: a damaged part; Error{system}: a file cannot be written.
PairFacts merge_pairs(const std::vector<std::string>& parts, const std::string& name);

}  // namespace ds
