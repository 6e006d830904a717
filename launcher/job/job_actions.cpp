// Performs the actions of JobState.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "launcher/job/job_facts.h"
#include "launcher/job/job_loop.h"
#include "launcher/job/spec.h"
#include "launcher/job/verdict_file.h"

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
  Spec spec = make_spec(request_, state_.placement(), action.node, identity_, hello(action.agent),
                        route(action.agent).local);
  if (action.node == 0 && state_.finds_master()) master_.open_door(spec);
  if (MpirView::being_debugged()) spec.node_timeout_ms = 0;  // it may stop this process for hours
  output_.fill(spec, state_.placement());
  last_agents_[action.node] = action.agent;
  links_.send(action.agent, std::move(spec));
  output_.prepared(action.agent);
  // The agent's answer gives the offset of its clock.
  links_.send(action.agent, Heartbeat{.sent = clock_value(Clock::now())});
}

void Job::perform(const CheckHost& action) {
  constexpr std::chrono::minutes kLimit{9};  // the policy gives the agent up a little later
  Check check{.runs = request_.trains,
              .limit_ms = static_cast<std::uint32_t>(std::chrono::milliseconds(kLimit).count())};
  try {
    check.spec = spec_of_joiner(action.agent);
  } catch (const Error& error) {
    return feed(HostChecked{action.agent, error.what()});
  }
  if (check.runs) {
    std::vector<std::string>& words = check.spec.programs.front().argv;
    words.insert(words.begin() + 1, "--check=facts");
  }
  links_.send(action.agent, check);
}

/// Returns the work that the agent's host would have if it joined now, for one rank.
Spec Job::spec_of_joiner(int agent) {
  std::vector<Host> hosts;
  for (const Node& node : state_.placement().nodes) hosts.push_back(node.host);
  if (std::cmp_less_equal(state_.most_nodes(), hosts.size())) hosts.pop_back();
  hosts.push_back(state_.agents().host_of(agent));
  const Placement next =
      place_groups(hosts, request_.policy.elastic->placing, state_.placement().epoch + 1);
  Spec spec = make_spec(request_, next, static_cast<int>(hosts.size()) - 1, identity_,
                        hello(agent), route(agent).local);
  spec.ranks.resize(1);
  // No rank connects.
  spec.env.emplace_back(contract::kMasterAddr, "127.0.0.1");
  spec.env.emplace_back(contract::kMasterPort, "29500");
  return spec;
}

void Job::perform(const SendGo& action) {
  const std::vector<int> agents = state_.agents_by_node();
  std::vector<std::string> hosts;
  for (const int agent : agents) hosts.push_back(hello(agent).hostname);
  error_files_.clear();  // of an earlier epoch
  output_.start(state_.placement(), hosts);
  if (request_.mpi != MpiWire::none) begin_fences();
  begin_debugging();
  const std::uint16_t port = request_.master.port != 0 ? request_.master.port : action.master_port;
  send_to_busy(
      Go{{{contract::kMasterAddr, chosen_master()}, {contract::kMasterPort, std::to_string(port)}},
         holds_ranks_});
  phases_.begin(state_.placement().world_size());
  if (training_ && training_->begin()) order_save();
  const auto reader = static_cast<std::size_t>(request_.logs.input.rank);
  input_.start(agents, state_.placement().ranks[reader].node_rank);
}

bool Job::watch(int rank, bool on) {
  if (rank >= state_.placement().world_size()) return false;
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

void Job::perform(const Conclude& action) {
  const JobVerdict& verdict = action.verdict;
  RankWords words;
  if (is_of_rank(verdict.cause)) {
    const int rank = verdict.cause.rank;
    const int node = state_.placement().ranks[static_cast<std::size_t>(rank)].node_rank;
    if (const auto agent = last_agents_.find(node); agent != last_agents_.end())
      words.device = device_of_rank(request_, state_.placement(), rank, hello(agent->second));
    words.last_lines = output_.last_lines(rank);
    words.out_of_sight = output_.bytes_since(rank) > kOutOfSight;
    if (const auto file = error_files_.find(rank); file != error_files_.end())
      words.error_file = file->second;
  }
  words.step = training_ ? training_->step() : last_step(output_.last_lines(0));
  words.incomplete_logs = output_.incomplete_logs();
  if (training_) words.checkpoint = training_->checkpoint();
  for (const std::string& paragraph : verdict_paragraphs(verdict, words)) perform(Say{paragraph});
  tell_debugger(verdict.cause);
  const std::string json = verdict_json(verdict, words, job_id_text(identity_.id));
  try {
    if (!request_.verdict_file.empty()) write_verdict_file(request_.verdict_file, json);
  } catch (const Error& error) {  // the outcome of the job stays
    perform(Say{error.for_people()});
  }
  if (request_.on_verdict) request_.on_verdict(json);
  code_ = exit_code(verdict.cause);
  output_.finish();
}

void Job::perform(const SendSweep& action) {
  Sweep sweep{.job_cookie = job_id_text(identity_.id)};
  const std::string& host = state_.agents().host_of(action.agent).name;
  for (int agent = 0; agent < action.agent; ++agent)
    if (state_.agents().host_of(agent).name == host && hello(agent).pid != 0 &&
        state_.fleet().stage(agent) == Fleet::Stage::gone)
      sweep.lost.push_back(hello(agent).pid);
  links_.send(action.agent, sweep);
}

/// Returns whether all nodes of the placement are on this machine.
bool Job::all_here() const {
  return std::ranges::all_of(state_.agents_by_node(),
                             [this](int agent) { return route(agent).local; });
}

/// Returns the launcher's source address towards another node; empty if all are on this machine.
std::string Job::root_side() {
  for (const int agent : state_.agents_by_node()) {
    const std::vector<NodeAddress>& addresses = hello(agent).addresses;
    if (!route(agent).local && !addresses.empty())
      return own_address_towards(addresses.front().address);
  }
  return {};
}

std::vector<NodeView> Job::node_views() {
  std::vector<NodeView> views;
  for (const Node& node : state_.placement().nodes) {
    const Hello& known = hello(state_.agents().agent_of(node.node_rank));
    views.push_back({node.host.name, known.network, known.addresses});
  }
  return views;
}

MasterFinder::Question Job::master_question(std::uint16_t port) {
  MasterFinder::Question question{
      .nodes = node_views(), .agents = state_.agents_by_node(), .candidates = {}, .port = port};
  const int first = question.agents.front();
  const std::vector<NodeAddress>& own = question.nodes.front().addresses;
  // The agent lists first the address by which the launcher reached it.
  std::string reached = route(first).local ? root_side() : std::string();
  if (!route(first).local && !own.empty()) reached = own.front().address;
  question.candidates = master_candidates(question.nodes, reached, request_.master.iface);
  return question;
}

void Job::perform(const FindMaster& action) {
  if (action.known) return master_.again(state_.agents().agent_of(0));
  if (all_here() || share_network(node_views()))
    return master_.skip(state_.agents().agent_of(0));
  const MasterFinder::Question question = master_question(action.master_port);
  if (!question.candidates.empty()) return master_.begin(question);
  // Without a known numeric address there is nothing to try: the name of node 0 is used.
  if (!request_.master.iface) return master_.skip(question.agents.front());
  feed(MasterMissing{.text = fmt::format("{} has no address at {} that another machine could reach",
                                         question.nodes.front().host, request_.master.iface->text)});
}

/// Returns the address at which the ranks find rank 0.
std::string Job::chosen_master() {
  const MasterRequest& wanted = request_.master;
  if (!wanted.address.empty()) return wanted.address;
  if (!master_.address().empty() && !share_network(node_views())) return master_.address();
  const MasterFinder::Question question = master_question(0);
  if (wanted.iface && !question.candidates.empty()) return question.candidates.front().address;
  std::vector<bool> local;
  for (const int agent : question.agents) local.push_back(route(agent).local);
  std::vector<std::string> first_node;
  for (const NodeAddress& own : question.nodes.front().addresses) first_node.push_back(own.address);
  return master_address(state_.placement(), local, first_node, root_side());
}

}  // namespace ds::launcher
