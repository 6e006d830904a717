// What ExecState has decided is done here.
#include <fmt/format.h>
#include <unistd.h>

#include <asio/post.hpp>
#include <csignal>
#include <utility>

#include "launcher/exec/exec_loop.h"

namespace ds::launcher::exec {

using namespace std::chrono_literals;

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

void Exec::perform(const BeatAll&) {
  for (const auto& link : links_)
    if (link) link->beat({});
}

void Exec::perform(const StopSelf&) {
  asio::post(io_, [this] { stop_self(Clock::now() + 500ms); });
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

void Exec::say(const std::string& lines) {
  if (!left_) control_.say(lines);
  output_.say(lines);
}

void Exec::perform(const Leave&) {
  left_ = true;
  std::string words = hooks_.take ? "" : results_text(names_, state_.results());
  if (!words.empty()) control_.say(words);
  control_.finish(state_.exit_code(), [this] {
    drained_ = true;
    leave_when_over();
  });
  std::vector<bool> ended;
  for (const NodeResult& result : state_.results())
    ended.push_back(result.kind == NodeResult::Kind::exited);
  output_.finish(words, ended);
}

void Exec::leave_when_over() {
  if (written_ && drained_) io_.stop();
}

}  // namespace ds::launcher::exec
