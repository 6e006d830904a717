// Policy of `dslaunch k8s run` after the job was applied: wait, show output, or end. Pure.
#pragma once

#include <optional>
#include <string>

#include "launcher/kubectl/cluster_news.h"

namespace ds::launcher {

/// What the cluster showed.
struct ClusterLook {
  bool is_there = true;  // the main object of the job
  std::optional<RootPod> root{};
  std::optional<ClusterEnd> end{};
  std::string unscheduled{};  // pods that no node takes
  std::string warning{};  // newest event about the job, while no root pod has started
};

struct FollowStep {
  enum class What { wait, follow, finish };
  What what = What::wait;
  std::string say{};  // a line for the user; may be empty
  std::string pod{};  // of follow: its output is to be shown until it ends
  /// Of follow: the output of the last so many seconds is missing; empty: all of it.
  std::optional<int> since_s{};
  int code = 0;       // of finish
  bool hopeless = false;  // of finish: the cluster would start the root in vain
};

/// Each start of the root is followed until it ends: again if kubectl logs ends before the root, as
/// when a kubelet or an API server closes the stream. The exit code is the last one of the root when the job
/// has ended, or when it is one that no restart cures.
class FollowJob {
 public:
  /// `deadline_s`: from the first look to the start of a root pod.
  FollowJob(std::string name, int deadline_s) : name_(std::move(name)), deadline_s_(deadline_s) {}
  /// `seconds`: since the first look.
  FollowStep next(const ClusterLook& look, int seconds);
  /// To be called when the output of a follow step has ended. `last_s`: when the last of it came;
  /// empty: there was none.
  void output_ended(int seconds, std::optional<int> last_s);
  /// Returns a line about pods that no node takes, for the time while output is shown; empty: there
  /// are none, or it was said.
  std::string unscheduled_news(const ClusterLook& look);

 private:
  FollowStep finish(const ClusterLook& look) const;
  std::optional<FollowStep> give_up(int seconds);
  [[nodiscard]] FollowStep follow_again(const std::string& pod, int seconds) const;

  std::string name_;
  int deadline_s_;
  std::string followed_;       // uid of the pod whose output was shown last
  std::optional<int> last_output_{};  // when the last output of that pod came
  int again_at_ = 0;                  // when its output may be asked for again
  int pause_ = 0;                     // before the next attempt to show its output; 0: none yet
  std::string said_;           // last reason for waiting
  std::string unscheduled_;    // said last
  std::optional<int> code_{};  // of the root pod that ended last
  std::optional<int> final_since_{};  // when its code was first seen that no restart cures
  bool started_ = false;
};

}  // namespace ds::launcher
