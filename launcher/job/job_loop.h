// The event loop of one job: passes events to JobState and performs its actions. Private to this
// folder.
#pragma once

#include <algorithm>
#include <asio/signal_set.hpp>
#include <map>
#include <optional>

#include "launcher/fleet/agent_links.h"
#include "launcher/fleet/wake_timer.h"
#include "launcher/job/job.h"
#include "launcher/job/job_control.h"
#include "launcher/job/job_input.h"
#include "launcher/job/master_finder.h"
#include "launcher/job/mpir_table.h"
#include "launcher/job/output_hub.h"
#include "launcher/job/rank_environment.h"
#include "launcher/job/scale.h"
#include "launcher/job/start_phases.h"
#include "launcher/job/training.h"
#include "launcher/job/verdict_text.h"
#include "launcher/logs/redactor.h"
#include "launcher/mpi/fence_gather.h"
#include "launcher/mpi/library_kinds.h"
#include "launcher/mpi/modex_relay.h"
#include "launcher/mpi/published_names.h"

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
  void let_leave(const std::vector<std::string>& names);
  void on_message(int agent, Message& message);
  [[nodiscard]] std::string problem_of(int agent, const Hello& hello) const;
  [[nodiscard]] std::size_t ranks_of(int agent) const;
  void redact(Output& output);
  void on_output(int agent, Output& output);
  void take_news(int agent, RankNews& news);
  void order_save();
  /// Asks all ranks to end the same step, keep it, and exit with contract::kExitPaused.
  void order_pause() { send_to_busy(OrderRank{.order = OrderRank::Order::pause}); }
  std::string ask_for_checkpoint();
  ScaleAnswer scale(const ScaleRequest& request);
  [[nodiscard]] ScaleFacts scale_facts() const;
  [[nodiscard]] std::optional<NodeRoute> route_of_added(const Host& host) const;
  std::string perform_plan(const ScaleFacts& facts, ScalePlan plan);
  void look_at_hostfile();
  /// As JobOrders::add.
  std::string add(const Host& host, const NodeRoute& route);
  void describe_training(JobInfo& info) const {
    info.trains = request_.trains;
    info.phase = phases_.newest();
    if (state_.elastic()) {
      info.ranks = static_cast<std::uint32_t>(state_.placement().world_size());
      info.nodes = static_cast<std::uint32_t>(state_.placement().nodes.size());
    }
    if (!training_) return;
    info.step = training_->step().value_or(-1);
    info.kept = training_->kept();
    info.checkpoint = training_->checkpoint();
  }
  void on_rank_started(const Started& started);
  void on_rank_exited(int agent, const Exited& exited);
  [[nodiscard]] ExitTime exit_time(int agent, std::uint64_t there);
  void wait_for_signal();
  void take_signal(const SignalReceived& signal);
  void arm_timer() {
    if (state_.only_writes()) return timer_.cancel();
    const bool waits = !state_.fleet().suspended();
    timer_.arm(waits ? std::min(state_.wake_at(), mpi_.wake_at()) : state_.wake_at());
  }

  // job_mpi.cpp: MPI libraries of the ranks.
  bool take_mpi(int agent, Message& message);
  void send_to_nodes(const std::vector<int>& nodes, const Message& message);
  void pass_modex(const std::vector<ModexRelay::Out>& messages);
  void pass_names(const std::vector<PublishedNames::Out>& messages);
  void take_init(const MpiInit& init);
  void mpi_node_ended(int agent);
  void pass_fences();
  void begin_fences();
  void look_at_fences();

  // job_debugger.cpp: parallel debuggers.
  void begin_debugging();
  void show_ranks();
  void stop_self();
  void tell_debugger(const Cause& cause);

  // job_actions.cpp; links_ performs actions on one agent.
  template <class T>
  void perform(const T& action) {
    links_.perform(action);
  }
  void perform(const OpenAgent& action);
  void perform(const SendSpec& action);
  void perform(const SendSweep& action);
  void perform(const CheckHost& action);
  void perform(const SendGo& action);
  void perform(const FindMaster& action);
  void perform(const SignalRanks& action) { send_to_busy(Signal{action.signo}); }
  void perform(const Say& action);
  void perform(const PauseRanks&) { order_pause(); }
  void perform(const LetGo& action) {
    const auto host = static_cast<std::size_t>(action.host);
    if (request_.let_go) request_.let_go(state_.agents().hosts()[host].name);
  }
  void perform(const FlushOutput&) { output_.finish(); }
  void perform(const Conclude& action);

  [[nodiscard]] Spec spec_of_joiner(int agent);
  [[nodiscard]] bool all_here() const;
  [[nodiscard]] std::string root_side();
  [[nodiscard]] std::vector<NodeView> node_views();
  [[nodiscard]] MasterFinder::Question master_question(std::uint16_t port);
  [[nodiscard]] std::string chosen_master();
  /// Sends to agents that have a Spec and have not sent Cleared.
  void send_to_busy(const Message& message) {
    for (int agent = 0; agent < state_.fleet().size(); ++agent)
      if (state_.fleet().is_busy(agent)) links_.send(agent, message);
  }
  /// Reports the end to clients after all output is written: a client that waited for the end then
  /// reads the log.
  void all_written() {
    if (!code_) return feed(OutputWritten{});
    if (written_) return;
    written_ = true;
    control_.finish(*code_, life_.guard([this] { io_.stop(); }));
  }
  void send_window() {
    if (const auto size = terminal_size(request_.out_fd, request_.err_fd)) send_to_busy(*size);
  }
  /// As ControlHooks::watch.
  bool watch(int rank, bool on);

  [[nodiscard]] Hello& hello(int agent) { return hellos_[static_cast<std::size_t>(agent)]; }
  [[nodiscard]] const NodeRoute& route(int agent) const {
    return request_.routes[static_cast<std::size_t>(state_.agents().host_number(agent))];
  }

  asio::io_context& io_;
  JobRequest request_;
  JobIdentity identity_;
  JobState state_;
  AgentLinks links_;
  std::vector<Hello> hellos_;               // by agent
  std::map<int, std::string> error_files_;  // by rank
  std::map<int, int> last_agents_;          // by node: the agent that had its last Spec
  WakeTimer timer_;
  WakeTimer hostfile_timer_;
  HostfileWatch hostfile_;
  asio::signal_set signals_;
  Life life_;
  Redactor redactor_;
  std::string redacted_;  // the bytes of the Output being handled
  OutputHub output_;
  JobInput input_;
  std::string facts_;  // what all ranks of the training must have in common
  std::optional<Training> training_;  // of a train.toml whose rank 0 runs here
  StartPhases phases_;                // of the ranks of a training
  MasterFinder master_;
  FenceGather mpi_;
  LibraryKinds kinds_;
  ModexRelay modex_;
  PublishedNames names_;
  MpirView debugger_;
  bool holds_ranks_ = false;  // the ranks of this epoch start stopped
  bool stop_asked_ = false;   // a client has asked for the last stop
  bool ranks_shown_ = false;  // the next stop_self() waits for the debugger
  JobControl control_;
  std::optional<int> code_;
  // After the end: all output is written, and clients of the private socket are notified.
  bool written_ = false;
};

}  // namespace ds::launcher
