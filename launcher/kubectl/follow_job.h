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
  std::string warning{};  // newest event about the job, while no root pod has started
};

struct FollowStep {
  enum class What { wait, follow, finish };
  What what = What::wait;
  std::string say{};  // a line for the user; may be empty
  std::string pod{};  // of follow: its output is to be shown until it ends
  int code = 0;       // of finish
};

/// Each pod is followed once. The exit code is that of the last root pod when the job has ended.
class FollowJob {
 public:
  /// `deadline_s`: from the first look to the start of a root pod.
  FollowJob(std::string name, int deadline_s) : name_(std::move(name)), deadline_s_(deadline_s) {}
  /// `seconds`: since the first look.
  FollowStep next(const ClusterLook& look, int seconds);

 private:
  FollowStep finish(const ClusterLook& look) const;

  std::string name_;
  int deadline_s_;
  std::string followed_;       // uid of the pod whose output was shown last
  std::string said_;           // last reason for waiting
  std::optional<int> code_{};  // of the root pod that ended last
  bool started_ = false;
};

}  // namespace ds::launcher
