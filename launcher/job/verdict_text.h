// The last block on standard error. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/job/verdict.h"

namespace ds::launcher {

/// What the first failing rank had and said.
struct RankWords {
  std::vector<std::string> last_lines{};
  bool out_of_sight = false;  // others have written much since: worth being repeated
  std::string device{};       // of its slot, as CUDA_VISIBLE_DEVICES names it; empty: none is known
  std::string error_file{};   // what it wrote to TORCHELASTIC_ERROR_FILE
  std::optional<std::int64_t> step{};  // of training, the last that rank 0 has shown
  std::string checkpoint{};            // of training, the newest complete one; empty: none is known
};

/// The number of the last line of the form "step 12/100 ...".
std::optional<std::int64_t> last_step(const std::vector<std::string>& lines);

/// Paragraphs, from the details to the headline, which stands last, where the eye is. A job that
/// ended well has none; a short story has only the headline.
std::vector<std::string> verdict_paragraphs(const JobVerdict& verdict, const RankWords& words);

/// How the ranks other than the first failing one ended, most frequent first:
/// "[0-2,4] killed by SIGTERM; [5] exited 0"; empty if all ended as ranks do that are stopped.
std::string others_text(const JobVerdict& verdict);

}  // namespace ds::launcher
