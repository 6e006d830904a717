// Determines MASTER_ADDR and MASTER_PORT, where the ranks of a job meet.
#include <fmt/format.h>

#include <algorithm>

#include "launcher/job/job_facts.h"
#include "launcher/job/job_loop.h"

namespace ds::launcher {

/// Returns the launcher's source address towards another node; empty if all are on this machine.
std::string Job::root_side() {
  for (const Node& node : state_.placement().nodes) {
    const int agent = state_.agents().agent_of(node.node_rank);
    const std::vector<NodeAddress>& addresses = hello(agent).addresses;
    if (!route(agent).local && !addresses.empty())
      return own_address_towards(addresses.front().address);
  }
  return {};
}

MasterFinder::Question Job::master_question(std::uint16_t port) {
  MasterFinder::Question question;
  question.port = port;
  for (const Node& node : state_.placement().nodes) {
    const int agent = state_.agents().agent_of(node.node_rank);
    question.agents.push_back(agent);
    question.nodes.push_back({node.host.name, hello(agent).network, hello(agent).addresses});
  }
  const int first = question.agents.front();
  const std::vector<NodeAddress>& own = hello(first).addresses;
  // The agent lists first the address by which the launcher reached it.
  std::string reached = route(first).local ? root_side() : std::string();
  if (!route(first).local && !own.empty()) reached = own.front().address;
  question.candidates = master_candidates(question.nodes, reached, request_.master.iface);
  return question;
}

bool Job::nodes_share_network() {
  const std::string& first = hello(state_.agents().agent_of(0)).network;
  const std::vector<Node>& nodes = state_.placement().nodes;
  if (nodes.size() == 1) return true;
  return !first.empty() && std::all_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return hello(state_.agents().agent_of(node.node_rank)).network == first;
  });
}

void Job::perform(const FindMaster& action) {
  if (action.known) return master_.again(state_.agents().agent_of(0));
  if (nodes_share_network()) return master_.skip(state_.agents().agent_of(0));
  const MasterFinder::Question question = master_question(action.master_port);
  if (!question.candidates.empty()) return master_.begin(question);
  // Without a known numeric address there is nothing to try: the name of node 0 is used.
  if (!request_.master.iface) return master_.skip(question.agents.front());
  feed(MasterMissing{fmt::format("{} has no address at {} that another machine could reach",
                                 question.nodes.front().host, request_.master.iface->text)});
}

EnvList Job::master_variables(std::uint16_t held_port) {
  const MasterRequest& request = request_.master;
  const std::uint16_t port = request.port != 0 ? request.port : held_port;
  if (!request.address.empty()) return master_env(request.address, port);
  if (!nodes_share_network() && !master_.address().empty())
    return master_env(master_.address(), port);
  if (request.iface) {
    const std::vector<NodeAddress> candidates = master_question(port).candidates;
    if (!candidates.empty()) return master_env(candidates.front().address, port);
  }
  std::vector<bool> local;
  for (const Node& node : state_.placement().nodes)
    local.push_back(route(state_.agents().agent_of(node.node_rank)).local);
  std::vector<std::string> first_node;
  for (const NodeAddress& own : hello(state_.agents().agent_of(0)).addresses)
    first_node.push_back(own.address);
  return master_env(master_address(state_.placement(), local, first_node, root_side()), port);
}

}  // namespace ds::launcher
