// ResumeSearch: finds the checkpoints that `checkpoint.resume` allows, newest first.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/checkpoint/manifest.h"
#include "engine/checkpoint/reader.h"

namespace ds {

struct ResumeRequest {
  std::string resume = "auto";  // "auto", "never" or a path
  std::string load = "all";     // what to load from a path: "all" or "weights"
  std::string dir{};            // checkpoint.dir; empty: none
  std::string job{};            // job id, the same after a restart; empty: none
  bool is_restart = false;
};

/// A folder that training may resume from; not opened yet.
struct ResumePlace {
  std::string folder{};
  std::string load{};               // what to load from it
  std::optional<Origin> only_if{};  // used only if its manifest has this origin
  friend bool operator==(const ResumePlace&, const ResumePlace&) = default;
};

struct Resumed {
  std::shared_ptr<const Checkpoint> checkpoint{};  // null: training starts at step 0
  std::string load{};                              // "all" or "weights"
  Origin origin{};                                 // written to the manifests of this run
  std::vector<std::string> lines{};                // for the user: what was skipped and why
};

/// The complete checkpoint with the highest step is the newest; DIR/latest is not read. A path is a
/// checkpoint's folder, its manifest.json, a folder of checkpoints, or the `latest` in one. A run
/// that began at a path and is started again with that path resumes from the newest of its own
/// checkpoints in `dir` (those with this path as origin), and at the path only if there is none. A
/// restarted job that began with "never" does the same: its origin is the job.
class ResumeSearch {
 public:
  /// Errors: Error{config} if `dir` is not a folder or cannot be read.
  explicit ResumeSearch(ResumeRequest request);

  /// Opens the next checkpoint that verifies. `why_not` is the problem of the one returned before
  /// (its pieces are broken), or empty. Errors: Error{config} if the path is not a checkpoint (with
  /// what is there and which are near), or if checkpoints exist but none can be read: training
  /// never starts at step 0 silently.
  Resumed next(const std::string& why_not = {});

  /// Returns the newest step in `dir` at the time of the search; -1: none. Returns the largest
  /// number if it does not matter.
  [[nodiscard]] std::int64_t newest() const { return newest_; }

  /// Returns the places not tried yet.
  [[nodiscard]] const std::vector<ResumePlace>& places() const { return places_; }

 private:
  [[nodiscard]] Error none_left() const;
  [[nodiscard]] std::string went_further(const std::string& folder) const;

  ResumeRequest request_;
  std::optional<Origin> origin_;  // set for a path, and for "never" in a job with an id
  std::vector<ResumePlace> places_;
  bool path_has_some_ = false;
  std::int64_t newest_ = INT64_MAX;
  int broken_ = 0;  // number of checkpoints that cannot be read
  std::string why_first_;
};

/// Returns the folders in `folder` that are complete by their names, newest first. Of one step, the
/// one with the plain name comes first, then the one it replaced. Errors: Error{system} if `folder`
/// cannot be read.
std::vector<std::string> checkpoints_in(const std::string& folder);

/// Returns the path that identifies a run's origin: absolute, with links resolved as far as it
/// exists; for a manifest.json its folder.
std::string origin_path(const std::string& path);

}  // namespace ds
