#include "launcher/exec/exec_run.h"

#include <fmt/format.h>

#include <asio/signal_set.hpp>
#include <csignal>
#include <map>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "launcher/exec/exec_input.h"
#include "launcher/exec/node_program.h"
#include "launcher/exec/pdsh_report.h"
#include "launcher/exec/results.h"
#include "launcher/fleet/suspend.h"
#include "launcher/fleet/wake_timer.h"
#include "launcher/job/job_control.h"
#include "launcher/job/job_facts.h"
#include "launcher/job/verdict.h"

namespace ds::launcher::exec {
namespace {

JobInfo describe(const ExecRequest& request, const JobIdentity& identity) {
  JobInfo info = begun_now(identity);
  info.ranks = info.nodes = static_cast<std::uint32_t>(request.hosts.size());
  info.folder = request.folder;
  info.command = request.argv;
  info.command.insert(info.command.begin(), request.subcommand);
  return info;
}

/// Runs the loop of one `dslaunch exec`: passes events to Fanout and performs its actions. Agents
/// have the numbers of their nodes.
class Exec {
 public:
  Exec(asio::io_context& io, ExecRequest request, ExecHooks hooks)
      : io_(io),
        request_(std::move(request)),
        hooks_(std::move(hooks)),
        names_(request_.pdsh ? pdsh_labels(request_.hosts, request_.pdsh->full_names)
                             : node_names(request_.hosts)),
        programs_(names_.size()),
        killed_(names_.size()),
        identity_(new_identity()),
        fanout_(names_, request_.policy),
        links_(io, {.on_heard = [this](int node) { feed(AgentHeard{node}); },
                    .on_message = [this](int node, Message& message) { on_message(node, message); },
                    .on_lost = [this](const AgentLost& lost) { on_lost(lost); },
                    .on_continued = [this] { feed(Continued{}); },
                    .stop_self = [this] { suspend_this_process(stop_asked_); }}),
        timer_(io,
               [this] {
                 if (output_.still_busy()) feed(OutputHeld{});
                 feed(Tick{});
               }),
        signals_(io),
        output_(io, request_.output, names_,
                {.on_credit = [this](int node, const Credit& credit) { links_.send(node, credit); },
                 .on_closed = [this](const std::string& why) { lose_output(why); },
                 .on_written = [this] { all_written(); }}),
        control_(io, describe(request_, identity_), request_.control_folders, control_hooks()) {
    links_.set_job(identity_.id);
    if (request_.pdsh) pdsh_.emplace(*request_.pdsh, names_, output_, control_);
    if (!control_.problem().empty())
      say("dslaunch: this command cannot be seen by dslaunch ps: " + control_.problem());
    if (hooks_.input != nullptr)
      hooks_.input->begin([this](int node, const Stdin& input) { links_.send(node, input); });
    if (request_.in_fd < 0) return;
    const auto nodes = static_cast<int>(names_.size());
    const int fanout = request_.policy.fanout;
    input_.emplace(
        io, request_.in_fd, nodes, fanout == 0 || fanout >= nodes,
        [this](int node, const Stdin& input) { links_.send(node, input); },
        [this](const Error& problem) {
          if (!left_) say("dslaunch: " + problem.for_people());
          feed(InputFailed{});
        });
  }
  ExecOutcome run() {
    // As for jobs: signals that nohup ignores stay ignored, except INT.
    for (const int signo : {SIGHUP, SIGINT, SIGTERM, SIGTSTP})
      if (signo == SIGINT || !is_ignored(signo)) signals_.add(signo);
    std::signal(SIGPIPE, SIG_IGN);
    wait_for_signal();
    feed(Start{});
    io_.run();
    DS_ASSERT(left_);
    return {fanout_.exit_code(), fanout_.results()};
  }

 private:
  void feed(const Event& event) {
    for (const Action& action : fanout_.on(event, Clock::now()))
      std::visit([this](const auto& known) { perform(known); }, action);
    if (fanout_.stopping()) output_.leave_slow_reader();
    if (pdsh_) pdsh_->look(fanout_);
    if (fanout_.finished()) return timer_.cancel();
    timer_.arm(fanout_.wake_at());
  }
  void on_message(int node, Message& message) {
    if (const auto* output = std::get_if<Output>(&message)) {
      on_output(node, *output);
    } else if (const auto* hello = std::get_if<Hello>(&message)) {
      on_hello(node, *hello);
    } else if (std::holds_alternative<Ready>(message)) {
      feed(AgentReady{node});
    } else if (const auto* exited = std::get_if<Exited>(&message)) {
      input_left(node);
      feed(CommandEnded{node, rank_end(*exited)});
    } else if (const auto* taken = std::get_if<Credit>(&message)) {
      if (input_) input_->taken(node, taken->bytes);
      if (hooks_.input != nullptr) hooks_.input->taken(node, taken->bytes);
    } else if (const auto* problem = std::get_if<Problem>(&message)) {
      feed(AgentLost{node, name(node) + ": " + problem->text, {}});
      if (pdsh_) pdsh_->ended(node, fanout_);
    } else if (const auto* bye = std::get_if<Bye>(&message)) {
      killed_[static_cast<std::size_t>(node)] = bye->killed;
      if (pdsh_) pdsh_->ended(node, fanout_);
      feed(AgentDone{node});
    }
  }
  /// Reasons begin with the host's name; the node's name may have the port as well.
  void on_lost(AgentLost lost) {
    const std::string& host = request_.hosts[static_cast<std::size_t>(lost.agent)].name;
    if (lost.reason.starts_with(host + ": ") || lost.reason.starts_with(host + " ("))
      lost.reason.replace(0, host.size(), name(lost.agent));
    feed(lost);
    if (pdsh_) pdsh_->ended(lost.agent, fanout_);
  }
  void on_hello(int node, const Hello& hello) {
    if (hello.version != kWireVersion)
      return feed(AgentLost{node, version_reason(name(node), hello), {}});
    if (hooks_.reached) hooks_.reached(node, links_.peer_address(node));
    programs_[static_cast<std::size_t>(node)] =
        hooks_.program ? hooks_.program(node, hello) : program_of(node);
    feed(AgentGreeted{node});
  }
  void on_output(int node, const Output& output) {
    if (hooks_.take) {
      output_.grant_for(node, output, output.bytes.size());
      return hooks_.take(node, output);
    }
    Output known = output;
    known.rank = node;
    control_.output(known, Clock::now());
    output_.take(node, output, output.bytes.size());
  }
  void wait_for_signal() {
    signals_.async_wait([this](const asio::error_code& error, int signo) {
      if (error) return;
      wait_for_signal();
      take_signal({signo});
    });
  }
  /// Handles a signal to the launcher, also once only unread output is left: that is then dropped.
  void take_signal(const SignalReceived& signal) {
    if (signal.signo == SIGTSTP) stop_asked_ = signal.asked;
    if (!left_) return feed(signal);
    if (signal.signo == SIGTSTP)
      return asio::post(io_, [this] { suspend_this_process(stop_asked_); });
    if (written_) return io_.stop();  // only clients of the private socket are left
    feed(signal);
    say(fmt::format("dslaunch: {}", kOutputDropped));
    output_.leave_slow_reader();
    asio::post(io_, [this] { all_written(); });
  }

  template <class T>
  void perform(const T& action) {
    links_.perform(action);
  }
  void perform(const OpenAgent& action) {
    const auto host = static_cast<std::size_t>(action.host);
    if (pdsh_) pdsh_->dialed(action.agent);
    links_.open(action.agent, request_.hosts[host], request_.routes[host]);
  }
  void perform(const SendSpec& action) {
    const int node = action.agent;
    Spec spec;
    spec.node_rank = node;
    spec.nodes = static_cast<std::int32_t>(names_.size());
    spec.programs.push_back(std::move(programs_[static_cast<std::size_t>(node)]));
    spec.umask = Spec::kOwnUmask;
    spec.grace_ms = static_cast<std::uint32_t>(request_.policy.grace.count());
    spec.node_timeout_ms = static_cast<std::uint32_t>(request_.policy.node_timeout.count());
    spec.job_cookie = job_id_text(identity_.id);
    spec.leave = request_.leave;
    spec.ranks.push_back({.rank = node, .has_stdin = input_ || hooks_.input != nullptr});
    links_.send(node, spec);
    output_.prepared(node);
  }
  void perform(const StartCommand& action) {
    if (pdsh_) pdsh_->started(action.node);
    links_.send(action.node, Go{});
    if (input_) input_->started(action.node);
    if (hooks_.input != nullptr) hooks_.input->started(action.node);
  }
  void perform(const CloseAgent& action) {
    input_left(action.agent);
    links_.perform(action);
    if (pdsh_) pdsh_->ended(action.agent, fanout_);  // also of a node that says nothing any more
  }
  void input_left(int node) {
    if (input_) input_->left(node);
    if (hooks_.input != nullptr) hooks_.input->left(node);
  }
  void perform(const SendSweep&) {}  // exec dials no host again
  void perform(const ListNodes& action) {
    if (pdsh_) return pdsh_->list(action.stages);
    say("dslaunch: interrupt: once more within 1 s to stop all\n" +
        stages_text(names_, action.stages));
  }
  void perform(const Canceled& action) {
    if (pdsh_) pdsh_->canceled(action.nodes);
  }
  void perform(const Leave&) {
    left_ = true;
    const bool quiet = hooks_.take || request_.pdsh;
    std::string words = quiet ? "" : results_text(names_, fanout_.results());
    const std::string killed = quiet ? "" : killed_text(names_, killed_);
    if (pdsh_) pdsh_->finish(fanout_);
    if (!killed.empty()) words += (words.empty() ? "" : "\n") + killed;
    if (!words.empty()) control_.say(words);
    std::vector<bool> ended;
    for (const NodeResult& result : fanout_.results())
      ended.push_back(result.kind == NodeResult::Kind::exited);
    output_.finish(std::move(words), std::move(ended));
  }

  void say(const std::string& lines) {
    control_.say(lines);
    output_.say(lines);
  }
  [[nodiscard]] JobControl::Hooks control_hooks() {
    return {.phase = [this] { return fanout_.phase_name(); },
            .ranks_left = [this] { return fanout_.nodes_left(); },
            .set_grace = [this](auto grace) { fanout_.set_grace(grace); },
            .signal =
                [this](int signo) {
                  take_signal({signo, true});
                },
            .forward =
                [this](int signo) {
                  for (int node = 0; node < static_cast<int>(names_.size()); ++node)
                    if (fanout_.is_running(node)) links_.send(node, Signal{signo});
                },
            .prefix =
                [this](const OutputPiece& piece) {
                  return request_.output.prefixed ? name(piece.rank) + ": " : std::string();
                }};
  }
  /// Reports the end to clients after all output is written, as a job does.
  void all_written() {
    if (std::exchange(written_, true)) return;
    control_.finish(fanout_.exit_code(), [this] { io_.stop(); });
  }
  void lose_output(const std::string& why) {
    if (!why.empty()) say("dslaunch: standard output cannot be written: " + why);
    feed(OutputClosed{why});
  }
  [[nodiscard]] ProgramSpec program_of(int node) const {
    const Host& host = request_.hosts[static_cast<std::size_t>(node)];
    std::string user;
    if (!request_.pdsh)  // pdsh does not read ssh_config
      user = request_.routes[static_cast<std::size_t>(node)].transport->user_of(host);
    if (user.empty()) user = host.user.empty() ? request_.user : host.user;
    return program_for(request_, node, user);
  }
  [[nodiscard]] const std::string& name(int node) const {
    return names_[static_cast<std::size_t>(node)];
  }

  asio::io_context& io_;
  ExecRequest request_;
  ExecHooks hooks_;
  std::vector<std::string> names_;
  std::vector<ProgramSpec> programs_;  // by node, after the agent's Hello
  std::vector<std::uint32_t> killed_;  // background processes, by node
  JobIdentity identity_;
  Fanout fanout_;
  AgentLinks links_;
  WakeTimer timer_;
  asio::signal_set signals_;
  ExecOutput output_;
  std::optional<ExecInput> input_;
  JobControl control_;
  std::optional<PdshReport> pdsh_;
  bool stop_asked_ = false;  // a client has asked for the last stop
  bool left_ = false;
  bool written_ = false;  // after the end: all output is written, clients are notified
};

}  // namespace

ExecOutcome run_exec(asio::io_context& io, ExecRequest request, ExecHooks hooks) {
  return Exec(io, std::move(request), std::move(hooks)).run();
}

std::vector<std::string> node_names(const std::vector<Host>& hosts) {
  std::map<std::string, int> count;
  for (const Host& host : hosts) ++count[host.name];
  std::vector<std::string> names;
  for (const Host& host : hosts)
    names.push_back(count[host.name] == 1 || host.port == 0
                        ? host.name
                        : fmt::format("{}:{}", host.name, host.port));
  return names;
}

}  // namespace ds::launcher::exec
