// SaveFolder: the folder of a run's checkpoints: begin, publish, commit, find, thin out, set aside.
//
//   DIR/step-00000040/manifest.json, rank-00000.chunk, ...  complete; only a rename creates this
//   name DIR/step-00000060.tmp-EPOCH/                            being written DIR/latest one line:
//   the newest complete checkpoint
//
// save_names.h has the other names. docs/checkpoint.md says what a crash leaves at each moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/unique_fd.h"
#include "engine/checkpoint/folder_lock.h"
#include "engine/checkpoint/manifest.h"

namespace ds {

struct KeepPolicy {
  std::int64_t keep = 0;         // number of newest checkpoints to keep; 0: all
  std::int64_t major_every = 0;  // keep multiples of this step forever; 0: none
};

/// Returns the steps (ascending) to remove when `steps` are complete; never the newest. Pure.
std::vector<std::int64_t> surplus(std::vector<std::int64_t> steps, const KeepPolicy& policy);

/// Returns the step of a complete checkpoint's name ("step-00000040" -> 40), or nothing. Pure.
std::optional<std::int64_t> step_of(std::string_view name);
std::string step_name(std::int64_t step);

/// One object per rank. Several ranks may begin the same save.
class SaveFolder {
 public:
  /// `epoch` is the same for all ranks of this run and different from every other run. Errors:
  /// Error{config} if `dir` cannot be created or is not a folder.
  SaveFolder(std::string dir, std::uint64_t epoch);

  [[nodiscard]] const std::string& dir() const { return dir_; }

  /// Rank 0, before the first save: locks the folder for this job (flock, until destruction;
  /// nothing if the file system has no locks) and removes what earlier runs left incomplete. Waits
  /// up to `patience` for a job that holds the lock, because it may be ending; an earlier epoch of
  /// the same job yields. Errors: Error{config} if another job saves here, with its host and
  /// process.
  void own(std::chrono::milliseconds patience = std::chrono::seconds(5),
           const LockHolder& holder = {});

  /// Returns complete checkpoints by name, newest first, without opening them; none if missing.
  [[nodiscard]] std::vector<std::string> complete() const;

  /// Creates the folder of a save unless another rank has, but no parent. Returns its path. Errors
  /// of begin() and publish(): Error{system}.
  std::string begin(std::int64_t step) const;
  /// Publishes this rank's part; its chunk is written and synced before.
  void publish(std::int64_t step, const ChunkPart& part) const;
  /// Rank 0, after all ranks have published: joins the parts, writes the manifest last, syncs,
  /// renames (a complete checkpoint of the same step is moved away until then), syncs the parent
  /// and updates `latest`. Errors: Error{system} with the rank whose part is missing or wrong, or
  /// the file; earlier checkpoints stay complete.
  Manifest commit(const Manifest& head) const;
  /// Removes a save that failed. Never fails: what cannot be removed is left for own().
  void abandon(std::int64_t step) const noexcept;
  /// Removes what `policy` does not keep. Each folder is renamed first, so that nothing
  /// half-removed looks complete. Returns the steps removed. Never fails.
  std::vector<std::int64_t> thin_out(const KeepPolicy& policy) const noexcept;
  /// Renames complete checkpoints after `step` to *.set-aside (-2, ...), because this run resumed
  /// before them; they are never used again. -1: all. Returns the new names. Errors: Error{system}.
  std::vector<std::string> set_aside_after(std::int64_t step) const;

  [[nodiscard]] std::int64_t free_bytes() const;

 private:
  [[nodiscard]] std::string unfinished_path(std::int64_t step) const;

  std::string dir_;  // absolute
  std::uint64_t epoch_ = 0;
  UniqueFd lock_;
};

}  // namespace ds
