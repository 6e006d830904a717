// Follows the output of rank 0 of a training job, and passes on requests for checkpoints.
#include <csignal>

#include "launcher/job/job_loop.h"

namespace ds::launcher {

void Job::follow_training(const Output& output) {
  const bool told =
      training_ && output.rank == 0 && output.stream == 1 && (output.flags & Output::kTail) == 0;
  if (!told) return;
  const std::string_view text{reinterpret_cast<const char*>(output.bytes.data()),
                              output.bytes.size()};
  for (const Training::News& news : training_->add(text)) obey(news);
}

void Job::obey(const Training::News& news) {
  if (news.outcome) control_.saved(*news.outcome);
  if (!news.signal) return;
  const int agent = state_.agents().agent_of(state_.placement().ranks.front().node_rank);
  // Ranks decide together, so one signal suffices; signals to all could take effect at 2 steps.
  if (agent >= 0) links_.send(agent, Signal{.signo = SIGUSR1, .rank = 0});
}

std::string Job::ask_for_checkpoint() {
  if (!request_.trains) return "it runs a command, which alone knows how to save";
  if (!training_)
    return "its rank 0 is in another part of the job, with its own dslaunch: ask there";
  const std::string_view phase = state_.phase_name();
  if (phase == "stopping" || phase == "finished") return "it is stopping";
  obey(training_->ask());
  return {};
}

void Job::describe_training(JobInfo& info) const {
  info.trains = request_.trains;
  if (!training_) return;
  info.step = training_->step().value_or(-1);
  info.checkpoint = training_->checkpoint();
}

}  // namespace ds::launcher
