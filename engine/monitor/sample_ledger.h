// samples-rank0003.jsonl: which sequences of the training data a rank took in each step.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/base/unique_fd.h"

namespace ds {

/// One sequence of one micro-batch.
struct TakenSample {
  std::int64_t virtual_rank = 0, micro_step = 0;
  std::int64_t sample = 0;  // its number since the start of the training, as the sampler counts
  std::int64_t offset = 0;  // of its first byte in the training data
  friend bool operator==(const TakenSample&, const TakenSample&) = default;
};

/// {"step":41,"taken":[{"virtual_rank":0,"micro_step":0,"samples":[8,9],"offsets":[5120,64]},...]}
/// with its end, a member of "taken" a micro-batch. `text` is written over: no heap once it has
/// grown. `step` from 1.
void ledger_line(std::int64_t step, std::span<const TakenSample> taken, std::string& text);

/// "samples-rank0003.jsonl"
std::string ledger_name(int rank);
bool is_ledger_name(const std::string& name);

class SampleLedger {
 public:
  /// Goes on with the file of that name in `folder`, which is made where it is missing; what a
  /// killed process left of its last line is cut off. Errors: Error{system} naming the file.
  SampleLedger(const std::string& folder, int rank);
  /// One write(2) of a whole line. Errors: Error{system}: disk full.
  void write(std::int64_t step, std::span<const TakenSample> taken);

 private:
  std::string path_, text_;
  UniqueFd file_;
};

}  // namespace ds
