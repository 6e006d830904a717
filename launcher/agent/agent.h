// AgentLoop, the agent of one node: an event loop that performs what AgentState decides.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "launcher/agent/agent_state.h"
#include "launcher/agent/death_cause.h"
#include "launcher/agent/kept_store.h"
#include "launcher/agent/leftovers.h"
#include "launcher/agent/link.h"
#include "launcher/agent/master_addr.h"
#include "launcher/agent/output_path.h"
#include "launcher/agent/pid_namespace.h"
#include "launcher/agent/pmi_server.h"
#include "launcher/agent/pmix_process.h"
#include "launcher/agent/program_check.h"
#include "launcher/agent/rank_channels.h"
#include "launcher/agent/rank_set.h"

namespace ds::launcher {

struct AgentSetup {
  int in_fd = 0;
  int out_fd = 1;
  pid_t guard = 0;
  ProcessRef root;  // the launcher, if it runs on this machine: a stopped launcher is lost
};

/// Threads: one.   Errors: reported to the root; the agent then kills everything it has started.
class AgentLoop {
 public:
  explicit AgentLoop(const AgentSetup& setup);
  /// Returns the exit code. Called after fork, with all signals blocked.
  int run();

 private:
  /// How often the agent looks for children without a shim, while there may be some.
  static constexpr std::chrono::milliseconds kStrayPeriod{5};

  // agent.cpp: the loop and its inputs.
  void greet();
  void turn();
  void wait();
  void read_signals();
  void on_reaped(pid_t pid, int wait_status);
  void read_channel();
  void take_frame(const Frame& frame);
  void read_reports() {
    for (const auto& rank : ranks_) read_reports(*rank);
  }
  void read_reports(RankProcess& rank) {
    while (const auto report = rank.next_report()) on_report(rank, *report);
  }
  void on_report(RankProcess& rank, const ShimReport& report);
  void pass_error_file(std::int32_t rank);
  void read_streams();
  void serve_mpi();
  void serve_pmix();
  void pass_to_mpi(const Message& message);
  void pass_mpi();
  void serve_check();
  void serve_channels();
  void pass_news();
  [[nodiscard]] bool is_empty();

  // agent_actions.cpp: the actions of AgentState.
  void tell(const AgentEvent& event);
  void lose_root(const std::string& why);
  void send_heartbeat();
  void perform(const Send& action);
  void perform(const DialMaster& action);
  void perform(const KillLeftovers& action);
  void perform(const RunCheck& action) { check_.start(action.check, Clock::now()); }
  void perform(const StartRanks& action);
  void perform(const SignalMains& action);
  void perform(Act action);
  void perform(const Finish& action) { exit_code_ = action.code; }
  void hold_master_port();
  void start_pmix(const Spec& spec);
  void kill_everything();
  [[nodiscard]] Cookie own_cookie() const;
  std::vector<RankBinding> bindings_of(const Spec& spec);

  // agent_actions.cpp: neighbors, and the end.
  /// Returns true if this agent checks its neighbors. A remote agent without ranks has nothing to
  /// protect and sleeps. A local one must not outlive a launcher that is stopped.
  [[nodiscard]] bool looks() const { return started_ || root_.process().pid() != 0; }
  void look_at_neighbors();
  void drain();
  void leave_no_stopped_guard();

  Link link_;
  AgentChannel channel_;
  bool channel_open_ = true;
  AgentState state_;
  Envelope envelope_;
  StopWatch guard_;
  StopWatch root_;
  HeldPort port_;
  MasterDoor door_;
  MasterProbe probe_;
  PidNamespace namespace_;
  AgentFolder folder_;
  Autopsy autopsy_;
  RankSet ranks_;
  PmiServer pmi_;
  PmixProcess pmix_;
  ProgramCheck check_;  // while there is no Spec
  std::vector<PmixReady::Rank> pmix_env_;  // for the ranks
  RankChannels channels_;
  KeptStore kept_;  // over all epochs
  bool started_ = false;
  std::vector<pollfd> polled_;
  OutputPath output_;
  std::optional<Heartbeat> heard_beat_;  // the last Heartbeat of the root
  Clock::time_point heard_beat_at_;
  Clock::time_point now_;
  Clock::time_point next_look_;
  bool told_empty_ = false;
  bool killing_everything_ = false;
  bool kill_strays_ = false;
  bool sent_kill_ = false;  // the agent has sent KILL: it explains later deaths by KILL
  std::optional<Clock::time_point> bad_since_;  // since the loss of the root or of a link
  std::optional<int> exit_code_;
};

}  // namespace ds::launcher
