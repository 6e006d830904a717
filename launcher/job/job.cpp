// The edge of the launcher: channels, clock, signals and output around JobState.
#include "launcher/job/job.h"

#include <unistd.h>

#include <asio/post.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "launcher/job/job_facts.h"
#include "launcher/job/node_link.h"
#include "launcher/job/output_hub.h"
#include "launcher/job/rank_end.h"
#include "launcher/job/rank_environment.h"
#include "launcher/job/spec.h"

namespace ds::launcher {

namespace {

using namespace std::chrono_literals;

class Job {
 public:
  Job(asio::io_context& io, JobRequest request);
  int run();

 private:
  // Events.
  void feed(const Event& event);
  void on_message(int node, Message& message);
  void wait_for_signal();

  // Actions.
  void perform(const OpenAgents&);
  void perform(const SendSpec& action);
  void perform(const SendGo& action);
  void perform(const StopRanks& action);
  void perform(const KillRanks&) { send_all(Kill{}); }
  void perform(const SuspendRanks&) { send_all(Suspend{}); }
  void perform(const SuspendSelf&);
  void perform(const ResumeRanks&) { send_all(Resume{}); }
  void perform(const SendHeartbeats&);
  void perform(const CloseAgent& action);
  void perform(const Say& action);
  void perform(const Finish& action);

  void send_all(const Message& message);
  void arm_timer();
  void pause_reading(bool pause);
  NodeLink& link(int node) { return *links_[static_cast<std::size_t>(node)]; }

  asio::io_context& io_;
  JobRequest request_;
  JobIdentity identity_;
  JobState state_;
  std::vector<std::unique_ptr<NodeLink>> links_;  // by node rank
  std::vector<Hello> hellos_;                     // by node rank
  asio::steady_timer timer_;
  std::optional<Clock::time_point> timer_at_;
  asio::steady_timer suspend_timer_;
  asio::signal_set signals_;
  OutputHub output_;
  std::optional<int> code_;
};

Job::Job(asio::io_context& io, JobRequest request)
    : io_(io),
      request_(std::move(request)),
      identity_(new_identity(request_.err_fd)),
      state_(request_.placement, request_.policy),
      hellos_(request_.placement.nodes.size()),
      timer_(io),
      suspend_timer_(io),
      signals_(io),
      output_(io,
              {.world_size = request_.placement.world_size(),
               .out_fd = request_.out_fd,
               .err_fd = request_.err_fd},
              {.on_pause = [this](bool pause) { pause_reading(pause); },
               .on_closed = [this] { feed(OutputClosed{}); },
               .on_written = [this] { io_.stop(); }}) {}

int Job::run() {
  // What nohup told us to ignore stays ignored. INT does not: a script ignores it for all that it
  // starts with `&`, and no terminal sends it to those; whoever does send it means it.
  for (const int signo : {SIGHUP, SIGINT, SIGTERM, SIGTSTP})
    if (signo == SIGINT || !is_ignored(signo)) signals_.add(signo);
  std::signal(SIGPIPE, SIG_IGN);
  wait_for_signal();
  feed(Start{});
  io_.run();
  DS_ASSERT(code_);
  return *code_;
}

void Job::feed(const Event& event) {
  for (const Action& action : state_.on(event, Clock::now()))
    std::visit([this](const auto& known) { perform(known); }, action);
  // After a signal nobody waits for a reader that does not read.
  if (state_.cause().kind == Cause::Kind::signal) output_.leave_slow_reader();
  output_.push();
  arm_timer();
}

void Job::arm_timer() {
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
    if (output_.paused()) feed(OutputHeld{});
    feed(Tick{});
  });
}

void Job::wait_for_signal() {
  signals_.async_wait([this](const asio::error_code& error, int signo) {
    if (error) return;
    wait_for_signal();
    if (code_ && signo != SIGTSTP) return io_.stop();  // only unread output holds us: leave it
    feed(SignalReceived{signo});
  });
}

// Nodes.

void Job::perform(const OpenAgents&) {
  const auto epoch = static_cast<std::uint32_t>(request_.placement.epoch);
  for (const Node& node : request_.placement.nodes) {
    const int index = node.node_rank;
    links_.push_back(std::make_unique<NodeLink>(
        node.host.name, Envelope{.job = identity_.id, .epoch = epoch, .incarnation = 1},
        NodeLink::Events{
            .on_heard = [this, index] { feed(AgentHeard{index}); },
            .on_message = [this, index](Message& message) { on_message(index, message); },
            .on_lost =
                [this, index](std::string reason) {
                  feed(AgentLost{index, std::move(reason)});
                }}));
    links_.back()->open(*request_.routes[static_cast<std::size_t>(index)].transport, node.host);
  }
}

void Job::on_message(int node, Message& message) {
  if (auto* output = std::get_if<Output>(&message)) return output_.take(*output);
  if (auto* hello = std::get_if<Hello>(&message)) {
    if (hello->version != kWireVersion) {
      link(node).close();
      return feed(AgentLost{node, version_reason(request_.placement, node, *hello)});
    }
    hellos_[static_cast<std::size_t>(node)] = std::move(*hello);
    feed(AgentGreeted{node});
  } else if (const auto* ready = std::get_if<Ready>(&message)) {
    feed(AgentReady{node, ready->port});
  } else if (const auto* exited = std::get_if<Exited>(&message)) {
    if (is_rank_of(request_.placement, node, exited->rank))
      feed(RankExited{exited->rank, rank_end(*exited)});
  } else if (const auto* problem = std::get_if<Problem>(&message)) {
    link(node).close();
    feed(AgentLost{node, request_.placement.nodes[static_cast<std::size_t>(node)].host.name + ": " +
                             problem->text});
  } else if (std::holds_alternative<Bye>(message)) {
    feed(AgentDone{node});
  }
}

void Job::perform(const SendSpec& action) {
  link(action.node)
      .send(make_spec(request_, action.node, identity_,
                      hellos_[static_cast<std::size_t>(action.node)], own_environment()));
}

void Job::perform(const SendGo& action) {
  std::vector<bool> local;
  std::string root_side;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    local.push_back(request_.routes[i].local);
    const bool other = !request_.routes[i].local && !hellos_[i].addresses.empty();
    if (other && root_side.empty()) root_side = own_address_towards(hellos_[i].addresses.front());
  }
  const std::string address =
      master_address(request_.placement, local, hellos_.front().addresses, root_side);
  send_all(Go{master_env(address, action.master_port)});
}

void Job::perform(const StopRanks& action) {
  send_all(Stop{static_cast<std::uint32_t>(action.grace.count())});
}

void Job::perform(const SendHeartbeats&) { send_all(Heartbeat{}); }

void Job::perform(const CloseAgent& action) {
  link(action.node).close();
  // We may be inside an event of this very channel.
  asio::post(io_, [channel = std::shared_ptr<Channel>(link(action.node).take_channel())]() mutable {
    channel.reset();
  });
}

void Job::send_all(const Message& message) {
  for (const auto& link : links_) link->send(message);
}

// Suspension.

void Job::perform(const SuspendSelf&) {
  const Clock::time_point until = Clock::now() + 500ms;
  // The ranks first: once we stand still, nothing of ours is sent.
  auto check = std::make_shared<std::function<void()>>();
  *check = [this, until, weak = std::weak_ptr(check)] {
    bool sent = true;
    for (const auto& link : links_) sent = sent && link->unsent() == 0;
    if (!sent && Clock::now() < until) {
      suspend_timer_.expires_after(2ms);
      suspend_timer_.async_wait([check = weak.lock()](const asio::error_code& error) {
        if (!error) (*check)();
      });
      return;
    }
    ::kill(::getpid(), SIGSTOP);
    feed(Continued{});
  };
  asio::post(io_, [check] { (*check)(); });
}

// Output.

void Job::pause_reading(bool pause) {
  for (const auto& link : links_) link->pause_reading(pause);
}

void Job::perform(const Say& action) { output_.say("dslaunch: " + action.text); }

void Job::perform(const Finish& action) {
  code_ = action.code;
  output_.finish();
}

}  // namespace

int run_job(asio::io_context& io, JobRequest request) { return Job(io, std::move(request)).run(); }

}  // namespace ds::launcher
