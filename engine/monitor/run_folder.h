// RunFolder: the folder of one run, created by rank 0. Its files become visible when they are
// complete.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/train_config.h"

namespace ds {

/// Moves those of the named files that exist in `folder` to a new folder previous-N inside it and
/// returns its path; empty without such files. Errors: Error{config}.
std::string set_aside(const std::string& folder, const std::vector<std::string>& names);

/// The job that a run belongs to.
struct RunId {
  std::string job{};        // id; empty: none
  std::uint64_t epoch = 0;  // of the job
};

class RunFolder {
 public:
  /// Creates the folder. With `log.dir`: that folder; files of an earlier run in it move to
  /// previous-1, previous-2, ... inside it. Without: a new folder runs/NAME-YYYYmmdd-HHMMSS-N in
  /// the working directory. Writes config.toml, with log.dir filled in. An epoch after the first
  /// continues the folder of its job, if it is there: nothing moves. Errors: Error{config}: the
  /// folder cannot be created or written.
  static RunFolder create(TrainConfig config, const std::string& name, const RunId& run = {});

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Returns "moved the files of an earlier run to out/previous-1", or empty.
  [[nodiscard]] const std::string& note() const { return note_; }
  /// Returns whether the files are those of earlier epochs of this job.
  [[nodiscard]] bool is_continued() const { return is_continued_; }
  [[nodiscard]] std::string file(std::string_view name) const;
  /// Writes a temporary file, syncs it and renames it to `name`. Errors: Error{system} naming the
  /// file.
  void write(std::string_view name, std::string_view text) const;

 private:
  explicit RunFolder(std::string path, std::string note, bool is_continued)
      : path_(std::move(path)), note_(std::move(note)), is_continued_(is_continued) {}
  std::string path_, note_;
  bool is_continued_ = false;
};

}  // namespace ds
