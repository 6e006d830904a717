// What JobState has decided is done here.
#include <unistd.h>

#include <asio/post.hpp>
#include <csignal>
#include <functional>
#include <utility>

#include "engine/base/error.h"
#include "launcher/job/device_env.h"
#include "launcher/job/job_facts.h"
#include "launcher/job/job_loop.h"
#include "launcher/job/output_setup.h"
#include "launcher/job/spec.h"
#include "launcher/job/verdict_file.h"
#include "launcher/job/verdict_json.h"

namespace ds::launcher {

using namespace std::chrono_literals;

namespace {

// So much text of others lies between a rank's last words and the verdict, about ten lines: they
// may have left the screen.
constexpr std::uint64_t kOutOfSight = 1000;

}  // namespace

void Job::perform(const OpenAgent& action) {
  const int agent = action.agent;
  const Host& host = state_.agents().host_of(agent);
  links_.push_back(std::make_unique<NodeLink>(
      host.name,
      Envelope{.job = identity_.id,
               .epoch = static_cast<std::uint32_t>(state_.placement().epoch),
               .incarnation = static_cast<std::uint32_t>(agent) + 1},
      NodeLink::Events{
          .on_heard = [this, agent] { feed(AgentHeard{agent}); },
          .on_message = [this, agent](Message& message) { on_message(agent, message); },
          .on_lost =
              [this, agent](std::string reason, std::string stage) {
                feed(AgentLost{agent, std::move(reason), std::move(stage)});
              }}));
  hellos_.emplace_back();
  links_.back()->open(*route(agent).transport, host);
}

void Job::perform(const SendSpec& action) {
  link(action.agent).enter_epoch(static_cast<std::uint32_t>(state_.placement().epoch));
  Spec spec = make_spec(request_, state_.placement(), action.node, identity_,
                        {hello(action.agent), route(action.agent).local});
  if (action.node == 0 && state_.finds_master()) master_.open_door(spec);
  output_.fill(spec, state_.placement());
  last_agents_[action.node] = action.agent;
  link(action.agent).send(std::move(spec));
  output_.prepared(action.agent);
  // Its answer tells how far its clock is from ours.
  link(action.agent).send(Heartbeat{.sent = clock_value(Clock::now())});
}

void Job::perform(const SendGo& action) {
  std::vector<std::string> hosts;
  std::vector<int> agents;
  for (const Node& node : state_.placement().nodes) {
    const int agent = state_.agents().agent_of(node.node_rank);
    hosts.push_back(hello(agent).hostname);
    agents.push_back(agent);
  }
  error_files_.clear();  // those of an earlier epoch are no news
  output_.start(state_.placement(), hosts);
  if (training_) training_->begin();
  send_to_busy(Go{master_variables(action.master_port)});
  const auto reader = static_cast<std::size_t>(request_.logs.input.rank);
  input_.start(agents, state_.placement().ranks[reader].node_rank);
}

void Job::perform(const StopRanks& action) {
  send_to_busy(Stop{static_cast<std::uint32_t>(action.grace.count())});
}

void Job::perform(const SendSweep& action) {
  link(action.agent).send(Sweep{job_id_text(identity_.id)});
}

void Job::perform(const DismissAgent& action) {
  // A Kill of its own epoch would be a late one.
  link(action.agent).enter_epoch(static_cast<std::uint32_t>(state_.placement().epoch) + 1);
  link(action.agent).send(Kill{});
}

void Job::perform(const CloseAgent& action) {
  link(action.agent).close();
  // We may be inside an event of this very channel.
  asio::post(io_, [channel = std::shared_ptr<Channel>(
                       link(action.agent).take_channel())]() mutable { channel.reset(); });
}

void Job::send_all(const Message& message) {
  for (const auto& link : links_) link->send(message);
}

void Job::perform(const SendHeartbeats&) {
  const Heartbeat beat{.sent = clock_value(Clock::now())};
  for (const auto& link : links_) link->beat(beat);
}

void Job::send_to_busy(const Message& message) {
  for (int agent = 0; agent < static_cast<int>(links_.size()); ++agent) {
    const AgentRecord::Stage stage = state_.agents()[agent].stage;
    if (stage == AgentRecord::Stage::preparing || stage == AgentRecord::Stage::ready)
      link(agent).send(message);
  }
}

// Suspension.

void Job::perform(const SuspendSelf&) {
  const Clock::time_point until = Clock::now() + 500ms;
  // The ranks first: once we stand still, nothing of ours is sent.
  auto check = std::make_shared<std::function<void()>>();
  *check = life_.guard([this, until, weak = std::weak_ptr(check)] {
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
  });
  asio::post(io_, [check] { (*check)(); });
}

// Output.

void Job::send_window() {
  if (const auto size = terminal_size(request_.out_fd, request_.err_fd)) send_to_busy(*size);
}

bool Job::watch(int rank, bool on) {
  const auto sent = output_.watch(rank, on);
  if (!sent) return false;
  const int node = state_.placement().ranks[static_cast<std::size_t>(rank)].node_rank;
  const int agent = state_.agents().agent_of(node);
  if (agent < 0) return false;
  link(agent).send(Watch{rank, *sent});
  return true;
}

void Job::perform(const Say& action) {
  const std::string line = "dslaunch: " + action.text;
  control_.say(line);
  output_.say(line);
  if (request_.on_say) request_.on_say(line);
}

std::string Job::device_of(int rank) {
  const RankPlace& place = state_.placement().ranks[static_cast<std::size_t>(rank)];
  const auto agent = last_agents_.find(place.node_rank);
  if (agent == last_agents_.end()) return {};
  return device_of_rank(request_, state_.placement(), rank, hello(agent->second));
}

void Job::perform(const Conclude& action) {
  const JobVerdict& verdict = action.verdict;
  RankWords words;
  if (verdict.cause.kind == Cause::Kind::rank) {
    const int rank = verdict.cause.rank;
    words.device = device_of(rank);
    words.last_lines = output_.last_lines(rank);
    words.out_of_sight = output_.bytes_since(rank) > kOutOfSight;
    if (const auto file = error_files_.find(rank); file != error_files_.end())
      words.error_file = file->second;
  }
  words.step = training_ ? training_->step() : last_step(output_.last_lines(0));
  if (training_) words.checkpoint = training_->checkpoint();
  for (const std::string& paragraph : verdict_paragraphs(verdict, words)) perform(Say{paragraph});
  if (!request_.verdict_file.empty()) write_verdict(verdict, words);
  if (request_.on_verdict)
    request_.on_verdict(verdict_json(verdict, words, job_id_text(identity_.id)));
  code_ = exit_code(verdict.cause);
  output_.finish();
}

/// Clients hear of the end when all that was said of it is written: who waited for it reads the
/// log.
void Job::all_written() {
  if (!code_) return feed(OutputWritten{});
  if (written_) return;
  written_ = true;
  control_.finish(*code_, life_.guard([this] { io_.stop(); }));
}

void Job::write_verdict(const JobVerdict& verdict, const RankWords& words) {
  try {
    write_verdict_file(request_.verdict_file,
                       verdict_json(verdict, words, job_id_text(identity_.id)));
  } catch (const Error& error) {  // the job has gone as it has gone
    perform(Say{error.for_people()});
  }
}

}  // namespace ds::launcher
