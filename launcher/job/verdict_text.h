// Formats the verdict: the last block on standard error, and JSON (docs/failure.md). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/job/verdict.h"

namespace ds::launcher {

/// Output, files and device of the first failing rank.
struct RankWords {
  std::vector<std::string> last_lines{};
  bool out_of_sight = false;  // other ranks have written much since: repeat its lines
  std::string device{};       // of its slot, as CUDA_VISIBLE_DEVICES names it; empty: none is known
  std::string error_file{};   // content of its TORCHELASTIC_ERROR_FILE
  std::optional<std::int64_t> step{};  // of training, the last that rank 0 has shown
  std::string checkpoint{};            // of training, the newest complete one; empty: none is known
  std::vector<std::string> incomplete_logs{};  // one line for each machine with such log files
};

/// Returns the step of the last line of the form "step 12/100 ...".
std::optional<std::int64_t> last_step(const std::vector<std::string>& lines);

/// Returns paragraphs, from the details to the headline, which is last to stay visible. A job that
/// ended well has none; a short verdict has only the headline.
std::vector<std::string> verdict_paragraphs(const JobVerdict& verdict, const RankWords& words);

/// Returns how the ranks other than the first failing one ended, most frequent first:
/// "[0-2,4] killed by SIGTERM; [5] exited 0"; empty if all ended in an ordinary stop.
std::string others_text(const JobVerdict& verdict);

/// Returns one object, with a newline at its end. Text from ranks and nodes is cleaned of control
/// bytes, and bytes that are not UTF-8 are replaced.
std::string verdict_json(const JobVerdict& verdict, const RankWords& words,
                         const std::string& job_id);

}  // namespace ds::launcher
