// The edge of `dslaunch exec`: channels, clock, signals and output around ExecState.
#include "launcher/exec/exec_run.h"

#include <fmt/format.h>

#include <csignal>
#include <map>
#include <utility>

#include "engine/base/error.h"
#include "launcher/exec/exec_loop.h"
#include "launcher/exec/percent.h"
#include "launcher/job/job_facts.h"
#include "launcher/job/rank_end.h"

namespace ds::launcher::exec {

namespace {

JobInfo describe(const ExecRequest& request, const JobIdentity& identity) {
  JobInfo info = begun_now(identity);
  info.ranks = info.nodes = static_cast<std::uint32_t>(request.hosts.size());
  info.folder = request.folder;
  info.command = request.argv;
  info.command.insert(info.command.begin(), "exec");
  return info;
}

}  // namespace

Exec::Exec(asio::io_context& io, ExecRequest request, ExecHooks hooks)
    : io_(io),
      request_(std::move(request)),
      hooks_(std::move(hooks)),
      names_(node_names(request_.hosts)),
      programs_(names_.size()),
      identity_(new_identity(request_.output.err_fd)),
      state_(names_, request_.policy),
      links_(names_.size()),
      timer_(io,
             [this] {
               if (output_.paused()) feed(OutputSlow{});
               feed(TimeCame{});
             }),
      suspend_timer_(io),
      signals_(io),
      output_(io, request_.output, names_,
              {.on_pause =
                   [this](bool pause) {
                     for (const auto& link : links_)
                       if (link) link->pause_reading(pause);
                   },
               .on_closed = [this](const std::string& why) { lose_output(why); },
               .on_written =
                   [this] {
                     written_ = true;
                     leave_when_over();
                   }}),
      control_(io, describe(request_, identity_), request_.control_folders, control_hooks()) {
  if (!control_.problem().empty())
    say("dslaunch: this command cannot be seen by dslaunch ps: " + control_.problem());
  if (request_.in_fd < 0) return;
  const auto nodes = static_cast<int>(names_.size());
  const int fanout = request_.policy.fanout;
  input_.emplace(io, request_.in_fd, nodes, fanout == 0 || fanout >= nodes,
                 [this](int node, const Stdin& input) { send(node, input); });
}

JobControl::Hooks Exec::control_hooks() {
  return {.phase = [this] { return state_.phase_name(); },
          .ranks_left = [this] { return state_.nodes_left(); },
          .set_grace = [this](auto grace) { state_.set_grace(grace); },
          .signal =
              [this](int signo) {
                feed(GotSignal{signo, true});
              },
          .forward =
              [this](int signo) {
                for (int node = 0; node < static_cast<int>(links_.size()); ++node)
                  if (state_.is_running(node)) send(node, Signal{signo});
              },
          .prefix =
              [this](const OutputPiece& piece) {
                return request_.output.prefixed ? name(piece.rank) + ": " : std::string();
              }};
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
  if (state_.finished()) return timer_.cancel();
  timer_.arm(state_.wake_at());
}

void Exec::wait_for_signal() {
  signals_.async_wait([this](const asio::error_code& error, int signo) {
    if (error) return;
    wait_for_signal();
    if (left_ && signo != SIGTSTP) return io_.stop();  // only unread output holds us: leave it
    feed(GotSignal{signo});
  });
}

void Exec::lose_output(const std::string& why) {
  if (!why.empty()) say("dslaunch: standard output cannot be written: " + why);
  feed(OutputGone{});
}

// Nodes.

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
    Output known = *output;
    known.rank = node;
    control_.output(known, Clock::now());
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
