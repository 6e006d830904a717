// The part of Job that adds and removes hosts while the job runs: by `dslaunch scale`, and as the
// hostfile says.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "launcher/job/job_loop.h"

namespace ds::launcher {
namespace {

constexpr std::chrono::seconds kLookAtHostfile{1};

bool is_in_job(const ScaleFacts& facts, const std::string& name) {
  for (std::size_t host = 0; host < facts.hosts.size(); ++host)
    if (facts.hosts[host].name == name && facts.roles[host] != HostRole::retired) return true;
  return false;
}

}  // namespace

ScaleFacts Job::scale_facts() const {
  ScaleFacts facts{.nodes = request_.policy.elastic->nodes,
                   .most_nodes = state_.most_nodes(),
                   .hosts = state_.agents().hosts(),
                   .roles = state_.host_roles(),
                   .placing = request_.policy.elastic->placing};
  if (request_.trains) facts.training = state_.agents().seated();
  facts.loses_steps = state_.loses_steps();
  facts.most_world = request_.widest->world_size();
  for (const Node& node : request_.widest->nodes)
    facts.most_ranks = std::max(facts.most_ranks, static_cast<int>(node.ranks.size()));
  return facts;
}

/// Returns the route of a host that is added. A host that dials in can only come back.
std::optional<NodeRoute> Job::route_of_added(const Host& host) const {
  if (request_.route_to) return request_.route_to(host);
  const std::vector<Host>& hosts = state_.agents().hosts();
  const auto known = std::ranges::find(hosts, host.name, &Host::name);
  if (known == hosts.end()) return std::nullopt;
  return request_.routes[static_cast<std::size_t>(known - hosts.begin())];
}

/// Changes the hosts. Returns why not; empty: done.
std::string Job::perform_plan(const ScaleFacts& facts, ScalePlan plan) {
  if (!plan.problem.empty()) return std::move(plan.problem);
  std::vector<NodeRoute> routes;
  for (const Host& host : plan.add) {
    const std::optional<NodeRoute> route = route_of_added(host);
    if (!route) return "its nodes dial in: start dslaunch agent --join on a new one";
    routes.push_back(*route);
  }
  for (const int host : plan.retire) feed(HostRetired{host});
  for (std::size_t i = 0; i < plan.add.size(); ++i) {
    request_.routes.push_back(routes[i]);
    feed(HostAdded{plan.add[i]});
  }
  if (plan.most_nodes != facts.most_nodes) feed(SizeWanted{plan.most_nodes});
  return {};
}

ScaleAnswer Job::scale(const ScaleRequest& request) {
  const std::string_view phase = state_.phase_name();
  if (!state_.elastic())
    return {true, "its number of nodes is fixed; start it with --nodes MIN:MAX"};
  if (phase == "stopping" || phase == "finished") return {true, "it is stopping"};
  const ScaleFacts facts = scale_facts();
  ScalePlan plan =
      plan_scale(facts, {.nodes = request.nodes, .add = request.add, .remove = request.remove});
  std::string text = plan.text;
  std::string problem = perform_plan(facts, std::move(plan));
  return problem.empty() ? ScaleAnswer{false, std::move(text)}
                         : ScaleAnswer{true, std::move(problem)};
}

std::string Job::add(const Host& host, const NodeRoute& route) {
  if (!state_.elastic()) return "the number of nodes of this job is fixed";
  const ScaleFacts facts = scale_facts();
  if (is_in_job(facts, host.name)) return {};
  const ScalePlan plan = plan_scale(facts, {.add_hosts = {host}});
  if (!plan.problem.empty()) return plan.problem;
  request_.routes.push_back(route);
  feed(HostAdded{host});
  return {};
}

/// Follows a change of the hostfile.
void Job::look_at_hostfile() {
  const std::string_view phase = state_.phase_name();
  if (phase == "stopping" || phase == "finished") return;
  hostfile_timer_.arm(Clock::now() + kLookAtHostfile);
  std::optional<HostfileChange> change = hostfile_.take(request_.read_hostfile());
  if (!change) return;
  const auto keep = [this](const std::string& why) {
    perform(Say{fmt::format("the hostfile has changed, and the job keeps its hosts: {}", why)});
  };
  if (!change->problem.empty()) return keep(change->problem);
  const ScaleFacts facts = scale_facts();
  // `dslaunch scale` may have made a part of the change before.
  std::erase_if(change->add, [&](const Host& host) { return is_in_job(facts, host.name); });
  std::erase_if(change->remove, [&](const std::string& name) { return !is_in_job(facts, name); });
  if (change->add.empty() && change->remove.empty()) return hostfile_.followed();
  ScalePlan plan = plan_scale(facts, {.add_hosts = change->add, .remove = change->remove});
  const std::string text = plan.text;
  if (plan.problem.empty()) perform(Say{fmt::format("the hostfile has changed: {}", text)});
  const std::string problem = perform_plan(facts, std::move(plan));
  if (problem.empty()) return hostfile_.followed();
  if (hostfile_.refused(problem)) keep(problem);
}

}  // namespace ds::launcher
