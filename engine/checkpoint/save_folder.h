// The folder of a run's checkpoints: begun beside, committed by a rename, found again, thinned out.
//
//   DIR/step-00000040/manifest.json, rank-00000.chunk, ...  complete: only a rename makes this name
//   DIR/step-00000060.tmp-EPOCH/                            being written
//   DIR/latest                                              one line: the newest complete one
//
// save_names.h has the other names. What a crash leaves at any moment: docs/checkpoint.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/unique_fd.h"
#include "engine/checkpoint/manifest.h"

namespace ds {

struct KeepPolicy {
  std::int64_t keep = 0;         // newest complete ones; 0: all
  std::int64_t major_every = 0;  // steps of which multiples are kept for good; 0: none
};

/// Steps (ascending) that may go, once `steps` are complete. Pure. The newest never goes.
std::vector<std::int64_t> surplus(std::vector<std::int64_t> steps, const KeepPolicy& policy);

/// A complete checkpoint by its name, or none. Pure: "step-00000040" -> 40.
std::optional<std::int64_t> step_of(std::string_view name);
std::string step_name(std::int64_t step);

/// All of it on one rank. Several ranks may begin the same save.
class SaveFolder {
 public:
  /// `epoch`: one for all ranks of this run, which no other run has. Errors: Error{config}: `dir`
  /// cannot be made, or is no folder.
  SaveFolder(std::string dir, std::uint64_t epoch);

  [[nodiscard]] const std::string& dir() const { return dir_; }

  /// Rank 0, before anything is saved: takes the folder for this job (flock; kept until destroyed;
  /// where the file system has no locks, nothing) and removes what earlier runs left half-done.
  /// A job that has it now is waited for as long as `patience`: it may be about to end.
  /// Errors: Error{config}: another job saves here, naming its host and process.
  void own(std::chrono::milliseconds patience = std::chrono::seconds(5));

  /// Complete checkpoints by name, newest first, without looking inside. A missing folder has none.
  [[nodiscard]] std::vector<std::string> complete() const;

  /// Makes the folder of a save where no other rank has, and nothing above it. Returns its path.
  /// Errors: Error{system}, as of the next two.
  std::string begin(std::int64_t step) const;
  /// This rank's chunk is there and synced; its part is, afterwards.
  void publish(std::int64_t step, const ChunkPart& part) const;
  /// Rank 0, when all ranks have published: joins the parts, writes the manifest last, syncs,
  /// renames (a complete one of the same step is put aside until then), syncs the parent, moves
  /// `latest`. Errors: Error{system} naming the rank whose part is missing or wrong, or the file;
  /// what was complete before still is.
  Manifest commit(const Manifest& head) const;
  /// Removes a save that failed. No errors: what cannot be removed is left for own().
  void abandon(std::int64_t step) const noexcept;
  /// Removes what `policy` does not keep: renamed first, so that nothing half-removed looks
  /// complete. Returns the steps removed. No errors.
  std::vector<std::int64_t> thin_out(const KeepPolicy& policy) const noexcept;
  /// Complete ones after `step` are of a past that this run leaves: renamed to *.set-aside (-2,
  /// ...), never taken again. -1: all. Returns their new names. Errors: Error{system}.
  std::vector<std::string> set_aside_after(std::int64_t step) const;

  [[nodiscard]] std::int64_t free_bytes() const;

 private:
  [[nodiscard]] std::string unfinished_path(std::int64_t step) const;

  std::string dir_;  // absolute
  std::uint64_t epoch_ = 0;
  UniqueFd lock_;
};

}  // namespace ds
