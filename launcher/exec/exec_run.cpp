// The edge of `dslaunch exec`: channels, clock, signals and output around ExecState.
#include "launcher/exec/exec_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <asio/post.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "launcher/exec/exec_input.h"
#include "launcher/exec/percent.h"
#include "launcher/job/job_facts.h"
#include "launcher/job/node_link.h"
#include "launcher/job/rank_end.h"

namespace ds::launcher::exec {
namespace {

using namespace std::chrono_literals;

class Exec {
 public:
  Exec(asio::io_context& io, ExecRequest request, ExecHooks hooks);
  ExecOutcome run();

 private:
  void feed(const Event& event);
  void on_message(int node, Message& message);
  void on_hello(int node, const Hello& hello);
  void wait_for_signal();
  void arm_timer();

  void perform(const OpenNode& action);
  void perform(const SendCommand& action);
  void perform(const StartCommand& action);
  void perform(const StopCommand& action) {
    send(action.node, Stop{static_cast<std::uint32_t>(action.grace.count())});
  }
  void perform(const KillCommand& action) { send(action.node, Kill{}); }
  void perform(const CloseNode& action);
  void perform(const BeatAll&) { send_all(Heartbeat{}); }
  void perform(const SuspendAll&) { send_all(Suspend{}); }
  void perform(const StopSelf&) {
    asio::post(io_, [this] { stop_self(Clock::now() + 500ms); });
  }
  void perform(const ResumeAll&) { send_all(Resume{}); }
  void perform(const Tell& action) { output_.say("dslaunch: " + action.text); }
  void perform(const Leave&);

  void send(int node, const Message& message);
  void send_all(const Message& message);
  void stop_self(Clock::time_point latest);
  [[nodiscard]] ProgramSpec program_of(int node) const;
  std::unique_ptr<NodeLink>& link(int node) { return links_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] const std::string& name(int node) const {
    return names_[static_cast<std::size_t>(node)];
  }

  asio::io_context& io_;
  ExecRequest request_;
  ExecHooks hooks_;
  std::vector<std::string> names_;
  std::vector<ProgramSpec> programs_;  // by node, once its agent has greeted
  JobIdentity identity_;
  ExecState state_;
  std::vector<std::unique_ptr<NodeLink>> links_;  // by node; nothing before it is opened and after
  asio::steady_timer timer_;
  std::optional<Clock::time_point> timer_at_;
  asio::steady_timer suspend_timer_;
  asio::signal_set signals_;
  ExecOutput output_;
  std::optional<ExecInput> input_;
  bool left_ = false;
};

Exec::Exec(asio::io_context& io, ExecRequest request, ExecHooks hooks)
    : io_(io),
      request_(std::move(request)),
      hooks_(std::move(hooks)),
      names_(node_names(request_.hosts)),
      programs_(names_.size()),
      identity_(new_identity(request_.output.err_fd)),
      state_(names_, request_.policy),
      links_(names_.size()),
      timer_(io),
      suspend_timer_(io),
      signals_(io),
      output_(io, request_.output, names_,
              {.on_pause =
                   [this](bool pause) {
                     for (const auto& link : links_)
                       if (link) link->pause_reading(pause);
                   },
               .on_closed = [this] { feed(OutputGone{}); },
               .on_written = [this] { io_.stop(); }}) {
  if (request_.in_fd < 0) return;
  const auto nodes = static_cast<int>(names_.size());
  const int fanout = request_.policy.fanout;
  input_.emplace(io, request_.in_fd, nodes, fanout == 0 || fanout >= nodes,
                 [this](int node, const Stdin& input) { send(node, input); });
}

ExecOutcome Exec::run() {
  // As for jobs: what nohup told us to ignore stays ignored, INT does not.
  for (const int signo : {SIGHUP, SIGINT, SIGTERM, SIGTSTP})
    if (signo == SIGINT || !is_ignored(signo)) signals_.add(signo);
  std::signal(SIGPIPE, SIG_IGN);
  wait_for_signal();
  feed(Begin{});
  io_.run();
  DS_ASSERT(left_);
  return {state_.exit_code(), state_.results()};
}

void Exec::feed(const Event& event) {
  for (const Action& action : state_.on(event, Clock::now()))
    std::visit([this](const auto& known) { perform(known); }, action);
  if (state_.stopping()) output_.leave_slow_reader();
  arm_timer();
}

void Exec::arm_timer() {
  if (state_.finished()) {
    timer_.cancel();
    return;
  }
  const Clock::time_point at = state_.wake_at();
  if (at == timer_at_) return;
  timer_at_ = at;
  timer_.expires_at(at);
  timer_.async_wait([this](const asio::error_code& error) {
    if (error) return;
    timer_at_.reset();
    if (output_.paused()) feed(OutputSlow{});
    feed(TimeCame{});
  });
}

void Exec::wait_for_signal() {
  signals_.async_wait([this](const asio::error_code& error, int signo) {
    if (error) return;
    wait_for_signal();
    if (left_ && signo != SIGTSTP) return io_.stop();  // only unread output holds us: leave it
    feed(GotSignal{signo});
  });
}

// Nodes.

void Exec::perform(const OpenNode& action) {
  const int node = action.node;
  const Host& host = request_.hosts[static_cast<std::size_t>(node)];
  link(node) = std::make_unique<NodeLink>(
      host.name, Envelope{.job = identity_.id, .epoch = 0, .incarnation = 1},
      NodeLink::Events{.on_heard = [this, node] { feed(NodeHeard{node}); },
                       .on_message = [this, node](Message& message) { on_message(node, message); },
                       .on_lost =
                           [this, node](std::string why, std::string stage) {
                             feed(NodeLost{node, std::move(why), std::move(stage)});
                           }});
  link(node)->open(*request_.routes[static_cast<std::size_t>(node)].transport, host);
  if (output_.paused()) link(node)->pause_reading(true);
}

void Exec::on_hello(int node, const Hello& hello) {
  if (hello.version != kWireVersion) {
    link(node)->close();
    return feed(
        NodeLost{node, version_reason(request_.hosts[static_cast<std::size_t>(node)].name, hello)});
  }
  if (hooks_.reached) hooks_.reached(node, link(node)->peer_address());
  programs_[static_cast<std::size_t>(node)] =
      hooks_.program ? hooks_.program(node, hello) : program_of(node);
  feed(NodeGreeted{node});
}

void Exec::on_message(int node, Message& message) {
  if (const auto* output = std::get_if<Output>(&message)) {
    if (hooks_.take) return hooks_.take(node, *output);
    return output_.take(node, *output);
  }
  if (const auto* hello = std::get_if<Hello>(&message)) {
    on_hello(node, *hello);
  } else if (std::holds_alternative<Ready>(message)) {
    feed(NodeReady{node});
  } else if (const auto* exited = std::get_if<Exited>(&message)) {
    if (input_) input_->left(node);
    feed(CommandEnded{node, rank_end(*exited)});
  } else if (const auto* taken = std::get_if<Credit>(&message)) {
    if (input_) input_->taken(node, taken->bytes);
  } else if (const auto* problem = std::get_if<Problem>(&message)) {
    link(node)->close();
    feed(NodeLost{node, name(node) + ": " + problem->text});
  } else if (std::holds_alternative<Bye>(message)) {
    feed(NodeDone{node});
  }
}

ProgramSpec Exec::program_of(int node) const {
  const Host& host = request_.hosts[static_cast<std::size_t>(node)];
  const PercentValues values{
      .host = host.name, .node = node, .user = host.user.empty() ? request_.user : host.user};
  ProgramSpec program;
  for (const std::string& word : request_.argv)
    program.argv.push_back(request_.fill_percents ? fill_percents(word, values) : word);
  if (request_.shell) program.argv = {fmt::format("{}", fmt::join(program.argv, " "))};
  program.cwd = request_.folder;
  program.at_home = true;
  program.login_shell = request_.shell;
  return program;
}

void Exec::perform(const SendCommand& action) {
  Spec spec;
  spec.node_rank = action.node;
  spec.nodes = static_cast<std::int32_t>(names_.size());
  spec.programs.push_back(std::move(programs_[static_cast<std::size_t>(action.node)]));
  spec.umask = Spec::kOwnUmask;
  spec.grace_ms = static_cast<std::uint32_t>(request_.policy.grace.count());
  spec.node_timeout_ms = static_cast<std::uint32_t>(request_.policy.node_timeout.count());
  spec.job_cookie = job_id_text(identity_.id);
  spec.ranks.push_back({.rank = action.node, .has_stdin = input_.has_value()});
  send(action.node, spec);
}

void Exec::perform(const StartCommand& action) {
  send(action.node, Go{});
  if (input_) input_->started(action.node);
}

void Exec::perform(const CloseNode& action) {
  if (input_) input_->left(action.node);
  link(action.node)->close();
  // We may be inside an event of this very channel.
  asio::post(io_, [gone = std::shared_ptr<NodeLink>(std::move(link(action.node)))]() mutable {
    gone.reset();
  });
}

void Exec::send(int node, const Message& message) {
  if (link(node)) link(node)->send(message);
}

void Exec::send_all(const Message& message) {
  for (const auto& link : links_)
    if (link) link->send(message);
}

/// The commands first: once we stand still, nothing of ours is sent.
void Exec::stop_self(Clock::time_point latest) {
  bool sent = true;
  for (const auto& link : links_) sent = sent && (!link || link->unsent() == 0);
  if (!sent && Clock::now() < latest) {
    suspend_timer_.expires_after(2ms);
    suspend_timer_.async_wait([this, latest](const asio::error_code& error) {
      if (!error) stop_self(latest);
    });
    return;
  }
  ::kill(::getpid(), SIGSTOP);
  feed(Resumed{});
}

void Exec::perform(const Leave&) {
  left_ = true;
  if (hooks_.take) return output_.finish({});
  std::string words = results_text(names_, state_.results());
  if (!words.empty())
    words.insert(0, words.find('\n') == std::string::npos ? "dslaunch: " : "dslaunch:\n");
  output_.finish(words);
}

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
