// read_run(): reads a run folder with its previous-N.
#pragma once

#include <string>
#include <vector>

#include "engine/report/run_part.h"

namespace ds::report {

struct RunFiles {
  std::string path;            // absolute
  std::vector<RunPart> parts;  // oldest first; at least one
};

/// Returns whether `path` is a folder without metrics.jsonl, such as a folder of checkpoints.
bool is_other_folder(const std::string& path);

/// Reads metrics.jsonl, config.toml, run.json and summary.json of the folder and of each previous-N
/// in it. Files may be missing, damaged, cut, or in writing. Errors: Error{config}: not a folder,
/// no metrics.jsonl in it, or a file cannot be opened.
RunFiles read_run(const std::string& path);

}  // namespace ds::report
