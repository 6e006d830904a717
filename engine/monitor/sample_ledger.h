// SampleLedger: samples-rank0003.jsonl, which lists the training sequences that a rank used in each
// step.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/base/unique_fd.h"

namespace ds {

/// One sequence of one micro-batch.
struct TakenSample {
  std::int64_t virtual_rank = 0, micro_step = 0;
  std::int64_t sample = 0;  // counted by the sampler since training began
  std::int64_t offset = 0;  // of its first byte in the training data; of samples: their row
  friend bool operator==(const TakenSample&, const TakenSample&) = default;
};

/// Formats
/// {"step":41,"taken":[{"virtual_rank":0,"micro_step":0,"samples":[8,9],"offsets":[5120,64]},...]}
/// with its newline; "taken" has one member per micro-batch. Overwrites `text` and does not
/// allocate once it has grown. `step` counts from 1. In later epochs of a job ,"epoch":2 follows the
/// step: of a step that several epochs ran, the lines of the last one count.
void ledger_line(std::int64_t step, std::uint64_t epoch, std::span<const TakenSample> taken,
                 std::string& text);

/// Returns "samples-rank0003.jsonl" for rank 3.
std::string ledger_name(int rank);
bool is_ledger_name(const std::string& name);

class SampleLedger {
 public:
  /// Continues the file of that name in `folder`, which is created if missing. Cuts off an
  /// incomplete last line of a killed process. Errors: Error{system} naming the file.
  SampleLedger(const std::string& folder, int rank, std::uint64_t epoch = 0);
  /// Writes a whole line with one write(2). Errors: Error{system}: disk full.
  void write(std::int64_t step, std::span<const TakenSample> taken);

 private:
  std::string path_, text_;
  std::uint64_t epoch_ = 0;
  UniqueFd file_;
};

}  // namespace ds
