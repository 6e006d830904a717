// What `checkpoint.resume` means: which checkpoints training may go on at, newest first.
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
  std::string load = "all";     // of a path: "all" or "weights"
  std::string dir{};            // checkpoint.dir; empty: none
  std::string job{};            // its id, the same when a failed job is started again; empty: none
  bool is_restart = false;
};

/// One folder that may be gone on at; it has not been opened.
struct ResumePlace {
  std::string folder{};
  std::string load{};               // what is taken from it
  std::optional<Origin> only_if{};  // it counts only if its manifest says this origin
  friend bool operator==(const ResumePlace&, const ResumePlace&) = default;
};

struct Resumed {
  std::shared_ptr<const Checkpoint> checkpoint{};  // null: training begins anew
  std::string load{};                              // "all" or "weights"
  Origin origin{};                                 // for the manifests of this run
  std::vector<std::string> lines{};                // for people: what was skipped and why
};

/// The newest complete one by step wins; DIR/latest is not asked. A path is a checkpoint's folder,
/// its manifest.json, a folder of checkpoints, or that folder's `latest`. A run that began from a
/// path and is started again with that path goes on at the newest of its own checkpoints in `dir`
/// (those whose manifest has this path as its origin), and only without any at the path. So does a
/// job that began with "never", when it is started again: its origin is the job.
class ResumeSearch {
 public:
  /// Errors: Error{config}: `dir` is no folder, or cannot be read.
  explicit ResumeSearch(ResumeRequest request);

  /// Opens the next one that verifies. `why_not`: what is wrong with the one returned before (its
  /// pieces turned out broken), or empty. Errors: Error{config}: the path is no checkpoint (what
  /// was found there, and which are near); or there were some, and none of them can be read:
  /// training does not begin anew in silence.
  Resumed next(const std::string& why_not = {});

  /// The newest step of `dir` when it was looked at; -1: none; where it does not matter, the
  /// largest number.
  [[nodiscard]] std::int64_t newest() const { return newest_; }

  /// Those not tried yet.
  [[nodiscard]] const std::vector<ResumePlace>& places() const { return places_; }

 private:
  [[nodiscard]] Error none_left() const;
  [[nodiscard]] std::string went_further(const std::string& folder) const;

  ResumeRequest request_;
  std::optional<Origin> origin_;  // of a path, or of "never" by a job with an id
  std::vector<ResumePlace> places_;
  bool path_has_some_ = false;
  std::int64_t newest_ = INT64_MAX;
  int broken_ = 0;  // that cannot be read
  std::string why_first_;
};

/// Folders of `folder` that are complete by their names, newest first; of one step, first the one
/// that has the name, then what it replaced. Errors: Error{system}: it cannot be read.
std::vector<std::string> checkpoints_in(const std::string& folder);

/// The path by which a run's origin is known: absolute, links followed, of what is not there any
/// more as it stands; of a manifest.json its folder.
std::string origin_path(const std::string& path);

}  // namespace ds
