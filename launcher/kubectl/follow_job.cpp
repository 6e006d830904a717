// What to tell of a job that is followed, and how it ends. Pure.
#include "launcher/kubectl/follow_job.h"

#include <fmt/format.h>

#include "engine/base/contract.h"

namespace ds::launcher {
namespace {

/// A pod that waits for less long needs no line.
constexpr int kQuietSeconds = 5;

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

FollowStep FollowJob::next(const ClusterLook& look, int seconds) {
  if (!look.is_there)
    return {.what = FollowStep::What::finish,
            .say = fmt::format("{} was deleted", name_),
            .code = contract::kExitTerminated};
  if (look.root && look.root->started) {
    started_ = true;
    if (look.root->uid != followed_) {
      followed_ = look.root->uid;
      return {.what = FollowStep::What::follow, .pod = look.root->name};
    }
    if (look.root->code) code_ = look.root->code;
  }
  if (look.end) return finish(look);
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
