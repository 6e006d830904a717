// The loop of one job: what happens goes to JobState, what it decides is done. Private to this
// folder.
#pragma once

#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <optional>

#include "launcher/job/job.h"
#include "launcher/job/job_control.h"
#include "launcher/job/job_input.h"
#include "launcher/job/life.h"
#include "launcher/job/master_finder.h"
#include "launcher/job/node_link.h"
#include "launcher/job/output_hub.h"
#include "launcher/job/rank_environment.h"
#include "launcher/job/training.h"
#include "launcher/job/verdict_text.h"
#include "launcher/job/wake_timer.h"
#include "launcher/logs/redactor.h"

namespace ds::launcher {

class Job {
 public:
  Job(asio::io_context& io, JobRequest request);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  int run();

 private:
  // job.cpp: events.
  void feed(const Event& event);
  void on_message(int agent, Message& message);
  void redact(Output& output);
  void on_output(int agent, Output& output);
  // job_training.cpp
  void follow_training(const Output& output);
  void obey(const Training::News& news);
  std::string ask_for_checkpoint();
  void describe_training(JobInfo& info) const;
  void on_rank_started(const Started& started);
  void on_rank_exited(int agent, const Exited& exited);
  void wait_for_signal();
  void arm_timer();

  // job_actions.cpp
  void perform(const OpenAgent& action);
  void perform(const SendSpec& action);
  void perform(const SendGo& action);
  void perform(const FindMaster& action);  // job_master.cpp, with the next few
  void perform(const SignalRanks& action) { send_to_busy(Signal{action.signo}); }
  void perform(const StopRanks& action);
  void perform(const KillRanks&) { send_to_busy(Kill{}); }
  void perform(const SuspendRanks&) { send_all(Suspend{}); }
  void perform(const SuspendSelf&);
  void perform(const ResumeRanks&) { send_all(Resume{}); }
  void perform(const SendHeartbeats&);
  void perform(const SendSweep& action);
  void perform(const DismissAgent& action);
  void perform(const CloseAgent& action);
  void perform(const Say& action);
  void perform(const FlushOutput&) { output_.finish(); }
  void perform(const Conclude& action);

  [[nodiscard]] std::string root_side();
  [[nodiscard]] bool nodes_share_network();
  [[nodiscard]] MasterFinder::Question master_question(std::uint16_t port);
  [[nodiscard]] EnvList master_variables(std::uint16_t held_port);
  std::string device_of(int rank);
  void write_verdict(const JobVerdict& verdict, const RankWords& words);
  void send_all(const Message& message);
  /// To agents that have a Spec and have not said Cleared.
  void send_to_busy(const Message& message);
  void all_written();
  void send_window();
  /// As ControlHooks::watch.
  bool watch(int rank, bool on);

  [[nodiscard]] NodeLink& link(int agent) { return *links_[static_cast<std::size_t>(agent)]; }
  [[nodiscard]] Hello& hello(int agent) { return hellos_[static_cast<std::size_t>(agent)]; }
  [[nodiscard]] const NodeRoute& route(int agent) const {
    return request_.routes[static_cast<std::size_t>(state_.agents()[agent].host)];
  }

  asio::io_context& io_;
  JobRequest request_;
  JobIdentity identity_;
  JobState state_;
  std::vector<std::unique_ptr<NodeLink>> links_;  // by agent
  std::vector<Hello> hellos_;                     // by agent
  std::map<int, std::string> error_files_;        // by rank
  std::map<int, int> last_agents_;                // by node: who had its last Spec
  WakeTimer timer_;
  asio::steady_timer suspend_timer_;
  asio::signal_set signals_;
  Life life_;
  Redactor redactor_;
  std::string redacted_;  // of the Output that is being looked at
  OutputHub output_;
  JobInput input_;
  std::optional<Training> training_;  // of a train.toml whose rank 0 is ours
  MasterFinder master_;
  JobControl control_;
  std::optional<int> code_;
  // After the end: all output is written, and clients of the private socket hear of it.
  bool written_ = false;
};

}  // namespace ds::launcher
