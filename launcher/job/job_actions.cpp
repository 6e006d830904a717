// Performs the actions of JobState.
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

namespace {

// When other ranks have written this many bytes (about 10 lines) after a rank's last lines, those
// lines may have left the screen.
constexpr std::uint64_t kOutOfSight = 1000;

}  // namespace

void Job::perform(const OpenAgent& action) {
  links_.set_epoch(state_.placement().epoch);
  hellos_.emplace_back();
  links_.open(action.agent, state_.agents().host_of(action.agent), route(action.agent));
}

void Job::perform(const SendSpec& action) {
  links_.set_epoch(state_.placement().epoch);
  links_.enter_epoch(action.agent);
  Spec spec = make_spec(request_, state_.placement(), action.node, identity_,
                        {hello(action.agent), route(action.agent).local});
  if (action.node == 0 && state_.finds_master()) master_.open_door(spec);
  output_.fill(spec, state_.placement());
  last_agents_[action.node] = action.agent;
  links_.send(action.agent, std::move(spec));
  output_.prepared(action.agent);
  // The agent's answer gives the offset of its clock.
  links_.send(action.agent, Heartbeat{.sent = clock_value(Clock::now())});
}

void Job::perform(const SendGo& action) {
  std::vector<std::string> hosts;
  std::vector<int> agents;
  for (const Node& node : state_.placement().nodes) {
    const int agent = state_.agents().agent_of(node.node_rank);
    hosts.push_back(hello(agent).hostname);
    agents.push_back(agent);
  }
  error_files_.clear();  // of an earlier epoch
  output_.start(state_.placement(), hosts);
  if (training_) training_->begin();
  send_to_busy(Go{master_variables(action.master_port)});
  const auto reader = static_cast<std::size_t>(request_.logs.input.rank);
  input_.start(agents, state_.placement().ranks[reader].node_rank);
}

void Job::send_to_busy(const Message& message) {
  for (int agent = 0; agent < state_.fleet().size(); ++agent)
    if (state_.fleet().is_busy(agent)) links_.send(agent, message);
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
  links_.send(agent, Watch{rank, *sent});
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
  words.incomplete_logs = output_.incomplete_logs();
  if (training_) words.checkpoint = training_->checkpoint();
  for (const std::string& paragraph : verdict_paragraphs(verdict, words)) perform(Say{paragraph});
  if (!request_.verdict_file.empty()) write_verdict(verdict, words);
  if (request_.on_verdict)
    request_.on_verdict(verdict_json(verdict, words, job_id_text(identity_.id)));
  code_ = exit_code(verdict.cause);
  output_.finish();
}

/// Reports the end to clients after all output is written: a client that waited for the end then
/// reads the log.
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
  } catch (const Error& error) {  // the outcome of the job stays
    perform(Say{error.for_people()});
  }
}

}  // namespace ds::launcher
