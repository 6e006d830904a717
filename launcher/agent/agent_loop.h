// AgentLoop, the agent as one object: its inputs, and one method for each action of AgentState.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "launcher/agent/agent.h"
#include "launcher/agent/agent_channel.h"
#include "launcher/agent/agent_folder.h"
#include "launcher/agent/agent_state.h"
#include "launcher/agent/autopsy.h"
#include "launcher/agent/link.h"
#include "launcher/agent/master_door.h"
#include "launcher/agent/master_probe.h"
#include "launcher/agent/node_facts.h"
#include "launcher/agent/output_path.h"
#include "launcher/agent/pid_namespace.h"
#include "launcher/agent/rank_set.h"

namespace ds::launcher {

/// Limit for a search for leftovers.
inline constexpr std::chrono::seconds kSweepLimit{3};

/// Threads: one.
class AgentLoop {
 public:
  explicit AgentLoop(const AgentSetup& setup);
  /// Returns the exit code.
  int run();

 private:
  // agent.cpp: the loop and its inputs.
  void greet();
  void turn();
  void wait();
  void read_signals();
  void reap();
  void on_reaped(pid_t pid);
  void read_channel();
  void read_reports();
  void read_reports(RankProcess& rank);
  void read_streams();
  void test_addresses();
  void pass_error_file(const RankProcess& rank);
  [[nodiscard]] bool is_empty();
  [[nodiscard]] bool leave_namespace();

  // agent_actions.cpp: the actions of AgentState.
  void tell(const AgentEvent& event);
  void lose_root(const std::string& why);
  void perform(const Send& action);
  void send_heartbeat();
  void enter_namespace(Isolate wish);
  std::vector<RankBinding> bindings_of(const Spec& spec);
  void perform(const HoldPort&);
  void perform(const DialMaster& action);
  void perform(const KillLeftovers& action);
  void perform(const StartRanks& action);
  void perform(const SignalMains& action);
  void perform(const KillRanks&);
  [[nodiscard]] Cookie own_cookie() const;
  void perform(const SuspendRanks&);
  void perform(const ResumeRanks&);
  void perform(const KillStrays&);
  void perform(const ForgetRanks&);
  void perform(const KillEverything&);
  void perform(const Finish& action);

  // agent_actions.cpp: neighbors, and the end.
  [[nodiscard]] bool looks() const;
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
