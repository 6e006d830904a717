// What to tell of a job that is followed, and how it ends. Pure.
#include "launcher/kubectl/follow_job.h"

#include <fmt/format.h>

#include "engine/base/contract.h"

namespace ds::launcher {
namespace {

/// A pod that waits for less long needs no line.
constexpr int kQuietSeconds = 5;
/// Jobs with a policy for exit codes end within this time.
constexpr int kEndsWithin = 8;

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
    return {.what = FollowStep::What::follow, .pod = look.root->name};
  }
  if (look.root && look.root->code) code_ = look.root->code;
  if (look.end) return finish(look);
  if (const std::optional<FollowStep> end = give_up(seconds)) return *end;
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
