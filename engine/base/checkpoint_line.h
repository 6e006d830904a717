// Format of the line in which rank 0 reports a save or a resume: formatter (for the trainer) and
// parser (for the launcher). Pure.
//
//   checkpoint: step 40 saved in DIR/step-00000040 (1.4 GiB, stall 12 ms, written in 3.1 s)
//   checkpoint: step 40 saved in DIR/step-00000040 (1.4 GiB, ..., asked for)
//   checkpoint: step 40 failed: REASON
//   checkpoint: step 40 failed, asked for: REASON
//   checkpoint: step 40 resumed from DIR/step-00000040
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ds {

struct SavedCheckpoint {
  std::int64_t step = 0;
  std::string folder{};
  std::int64_t bytes = 0;
  double stall_s = 0;    // training stood still for so long
  double copied_s = 0;   // in memory; stall_s and copied_s are maxima over the ranks
  double written_s = 0;  // maximum over the ranks, plus the commit
  bool asked = false;    // for by SIGUSR1; `dslaunch checkpoint` waits for such a line
};

/// Returns one line without newline; control bytes of folder and reason become '?'.
std::string saved_line(const SavedCheckpoint& saved);
/// Also answers SIGUSR1 in a job that saves no checkpoints.
std::string save_failed_line(std::int64_t step, std::string_view reason, bool asked = false);
std::string resumed_line(std::int64_t step, std::string_view folder);

struct CheckpointLine {
  enum class What : std::uint8_t { saved, failed, resumed };
  What what = What::saved;
  std::int64_t step = 0;
  bool asked = false;
  std::string folder{};   // of saved and resumed
  std::string details{};  // of saved: "1.4 GiB, stall 12 ms, written in 3.1 s"; of failed: why
  friend bool operator==(const CheckpointLine&, const CheckpointLine&) = default;
};

/// Returns nothing for any other line.
std::optional<CheckpointLine> parse_checkpoint_line(std::string_view line);

}  // namespace ds
