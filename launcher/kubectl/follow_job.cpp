// What to tell of a job that is followed, and how it ends. Pure.
#include "launcher/kubectl/follow_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/contract.h"

namespace ds::launcher {
namespace {

/// A pod that waits for less long needs no line.
constexpr int kQuietSeconds = 5;
/// Jobs with a policy for exit codes end within this time.
constexpr int kEndsWithin = 8;
/// Pauses in seconds before output is asked for again. A root that has just ended is often still
/// listed as running for a few seconds.
constexpr int kFirstPause = 5;
constexpr int kLongestPause = 30;
/// kubectl counts --since from the time at which the kubelet gets the request. A start of kubectl
/// that takes up to so many seconds loses no line; some lines come twice.
constexpr int kOverlap = 10;

bool is_final(int code) {
  return code == contract::kExitUsage || code == contract::kExitConfig ||
         code == contract::kExitDoNotRestart;
}

std::string with_advice(const std::string& text) {
  const std::string advice = advice_for(text);
  return advice.empty() ? text : fmt::format("{}\n  hint: {}", text, advice);
}

}  // namespace

FollowStep FollowJob::finish(const ClusterLook& look) const {
  FollowStep step{.what = FollowStep::What::finish};
  if (look.end->succeeded) return step;
  step.code = code_.value_or(0) != 0 ? *code_ : 1;
  step.say = fmt::format("{} has failed{}{}", name_, look.end->reason.empty() ? "" : ": ",
                         look.end->reason);
  return step;
}

/// Ends a job that its operator would start again although nothing can come of it.
std::optional<FollowStep> FollowJob::give_up(int seconds) {
  if (!code_ || !is_final(*code_)) return std::nullopt;
  if (!final_since_) final_since_ = seconds;
  if (seconds - *final_since_ < kEndsWithin) return std::nullopt;
  return FollowStep{
      .what = FollowStep::What::finish,
      .say = fmt::format("{} has failed with exit code {}, which no restart cures", name_, *code_),
      .code = *code_,
      .hopeless = true};
}

void FollowJob::output_ended(int seconds, std::optional<int> last_s) {
  pause_ = last_s ? kFirstPause : std::clamp(2 * pause_, kFirstPause, kLongestPause);
  again_at_ = seconds + pause_;
  if (last_s) last_output_ = last_s;
}

FollowStep FollowJob::follow_again(const std::string& pod, int seconds) const {
  FollowStep step{.what = FollowStep::What::follow, .pod = pod};
  if (last_output_) step.since_s = seconds - *last_output_ + kOverlap;
  if (pause_ == kFirstPause)  // not for every attempt in a row
    step.say = fmt::format(
        "kubectl logs has ended, but {} is running: following its output again; its last lines may "
        "come twice",
        pod);
  return step;
}

std::string FollowJob::unscheduled_news(const ClusterLook& look) {
  if (look.unscheduled == unscheduled_) return {};
  unscheduled_ = look.unscheduled;
  if (unscheduled_.empty()) return {};
  return with_advice(fmt::format("{}: no node takes {}", name_, unscheduled_));
}

FollowStep FollowJob::next(const ClusterLook& look, int seconds) {
  if (!look.is_there)
    return {.what = FollowStep::What::finish,
            .say = fmt::format("{} was deleted", name_),
            .code = contract::kExitTerminated};
  if (look.root && look.root->started && look.root->uid != followed_) {
    started_ = true;
    followed_ = look.root->uid;
    last_output_.reset();
    pause_ = 0;
    return {.what = FollowStep::What::follow, .pod = look.root->name};
  }
  if (look.root && look.root->code) code_ = look.root->code;
  if (look.end) return finish(look);
  if (const std::optional<FollowStep> end = give_up(seconds)) return *end;
  if (look.root && look.root->running && pause_ > 0 && seconds >= again_at_)
    return follow_again(look.root->name, seconds);
  if (!started_ && seconds >= deadline_s_)
    return {
        .what = FollowStep::What::finish,
        .say = fmt::format("{} has not started within {} s{}{}; it is still there: dslaunch k8s "
                           "delete ends it",
                           name_, deadline_s_, said_.empty() ? "" : ": ", said_),
        .code = contract::kExitDeadline};
  const std::string why = look.root ? look.root->waiting : look.warning;
  if (seconds < kQuietSeconds || why.empty() || why == said_) return {};
  said_ = why;
  const std::string what = look.root ? look.root->name : name_;
  return {.say = fmt::format("waiting for {}: {}", what, with_advice(why))};
}

}  // namespace ds::launcher
