#include "launcher/job/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <numeric>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/hosts/host_selection.h"

namespace ds::launcher {
namespace {

ScalePlan refused(std::string why) { return {.problem = std::move(why)}; }

/// Returns the number of a host that belongs to the job; -1: none has this name.
int host_named(const ScaleFacts& facts, std::string_view name) {
  for (std::size_t i = 0; i < facts.hosts.size(); ++i)
    if (facts.hosts[i].name == name && facts.roles[i] != HostRole::retired)
      return static_cast<int>(i);
  return -1;
}

std::string names_of_all(const ScaleFacts& facts) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < facts.hosts.size(); ++i)
    if (facts.roles[i] != HostRole::retired) names.push_back(facts.hosts[i].name);
  return fold_names(names);
}

/// Returns how many of the hosts of the job that do not leave have one of these roles.
int count_left(const ScaleFacts& facts, const std::vector<int>& leaving,
               std::initializer_list<HostRole> roles) {
  int count = 0;
  for (std::size_t i = 0; i < facts.hosts.size(); ++i)
    count += std::ranges::count(roles, facts.roles[i]) > 0 &&
             std::ranges::count(leaving, static_cast<int>(i)) == 0;
  return count;
}

/// Returns why too few hosts would be left; empty: enough are. Hosts that are down do not count
/// when one leaves that is there.
std::string too_few(const ScaleFacts& facts, const ScalePlan& plan) {
  using enum HostRole;
  const int added = static_cast<int>(plan.add.size());
  const int left = count_left(facts, plan.retire, {takes_part, waits, away}) + added;
  const int least = facts.nodes.least;
  if (left < least && !plan.retire.empty())
    return fmt::format("{} would be left; the job needs at least {}", counted(left, "host"), least);
  const int here = count_left(facts, plan.retire, {takes_part, waits}) + added;
  const bool one_leaves = count_left(facts, plan.retire, {takes_part, waits}) <
                          count_left(facts, {}, {takes_part, waits});
  if (here >= least || !one_leaves) return {};
  const int down = left - here;
  return fmt::format("{} would be left, because {} down; the job needs at least {}",
                     counted(here, "host"), down == 1 ? "1 is" : fmt::format("{} are", down), least);
}

bool is_known(const ScaleFacts& facts, const std::string& name) {
  return std::ranges::count(facts.hosts, name, &Host::name) > 0;
}

/// Returns the names of the hosts that shall leave: a known name as it is, else those of a list with
/// ranges. Errors:  Error{usage} for what is no list of hosts.
std::vector<std::string> names_to_remove(const ScaleFacts& facts, const ScaleWish& wish) {
  std::vector<std::string> names;
  for (const std::string& word : wish.remove) {
    if (is_known(facts, word)) {
      names.push_back(word);
      continue;
    }
    for (const HostPick& pick : parse_host_picks("--remove", word))
      if (pick.names.empty())
        names.push_back(pick.text);
      else
        names.insert(names.end(), pick.names.begin(), pick.names.end());
  }
  return names;
}

/// Returns the hosts to add. Errors:  Error{usage} and Error{config} for what cannot be a host or
/// has no room for its ranks.
std::vector<Host> hosts_to_add(const ScaleFacts& facts, const ScaleWish& wish) {
  std::vector<HostPick> picks;
  for (const std::string& word : wish.add)
    for (HostPick& pick : parse_host_picks("--add", word)) picks.push_back(std::move(pick));
  std::vector<Host> hosts = hosts_of_picks(picks);
  for (Host& host : hosts)
    if (host.bare && host.slots != kAutoSlots && !facts.hosts.empty())
      host.slots = facts.hosts.front().slots;
  hosts.insert(hosts.end(), wish.add_hosts.begin(), wish.add_hosts.end());
  for (const Host& host : hosts) {
    if (host.slots == kAutoSlots)
      throw Error(ErrorKind::usage,
                  fmt::format("{}: the number of slots must be given", host.name));
    const int ranks = place_groups({host}, facts.placing, 0).world_size();
    if (ranks > facts.most_ranks)
      throw Error(ErrorKind::usage,
                  fmt::format("{} would run {}, but no host of this job may run more than {}",
                              host.name, counted(ranks, "rank"), counted(facts.most_ranks, "rank")));
  }
  return hosts;
}

/// Returns the number of ranks of the largest epoch that the hosts allow after the change.
int largest_world(const ScaleFacts& facts, const ScalePlan& plan) {
  std::vector<int> ranks;
  const auto add = [&](const Host& host) {
    ranks.push_back(place_groups({host}, facts.placing, 0).world_size());
  };
  for (std::size_t i = 0; i < facts.hosts.size(); ++i)
    if (facts.roles[i] != HostRole::retired &&
        std::ranges::count(plan.retire, static_cast<int>(i)) == 0)
      add(facts.hosts[i]);
  std::ranges::for_each(plan.add, add);
  std::ranges::sort(ranks, std::greater<>());
  ranks.resize(std::min(ranks.size(), static_cast<std::size_t>(facts.nodes.most)));
  return std::accumulate(ranks.begin(), ranks.end(), 0);
}

/// Returns why a change would cost a training all its steps; empty: it would not.
std::string why_lost(const ScaleFacts& facts, const ScalePlan& plan) {
  const bool one_leaves = std::ranges::any_of(plan.retire, [&](int host) {
    return facts.roles[static_cast<std::size_t>(host)] == HostRole::takes_part;
  });
  if (!facts.loses_steps || (!one_leaves && plan.most_nodes >= facts.training)) return {};
  return "the training would begin again at step 0, because it neither keeps its states in memory "
         "(elastic.every=0) nor saves checkpoints; start it with checkpoint.dir=FOLDER, or without "
         "elastic.every=0";
}

}  // namespace

ScalePlan plan_scale(const ScaleFacts& facts, const ScaleWish& wish) {
  ScalePlan plan{.most_nodes = wish.nodes < 0 ? facts.most_nodes : wish.nodes};
  std::vector<std::string> texts;
  if (wish.nodes >= 0) {
    if (wish.nodes < facts.nodes.least || wish.nodes > facts.nodes.most)
      return refused(fmt::format("{} is out of range: the job was started with --nodes {}:{}",
                                 counted(wish.nodes, "node"), facts.nodes.least, facts.nodes.most));
    if (wish.nodes == facts.most_nodes && wish.add.empty() && wish.remove.empty())
      return refused(fmt::format("nothing changes: the job already has up to {}",
                                 counted(wish.nodes, "node")));
    texts.push_back(fmt::format("the job will have up to {}", counted(wish.nodes, "node")));
  }
  std::vector<std::string> removing;
  try {
    removing = names_to_remove(facts, wish);
    plan.add = hosts_to_add(facts, wish);
  } catch (const Error& error) {
    return refused(error.what());
  }
  std::vector<std::string> removed;
  for (const std::string& name : removing) {
    const int host = host_named(facts, name);
    if (host < 0)
      return refused(is_known(facts, name)
                         ? fmt::format("{} has been removed already; the hosts that stay are {}",
                                       name, names_of_all(facts))
                         : fmt::format("no host of the job is named '{}': they are {}", name,
                                       names_of_all(facts)));
    if (std::ranges::count(plan.retire, host) > 0) continue;
    plan.retire.push_back(host);
    removed.push_back(name);
  }
  std::vector<std::string> added;
  for (const Host& host : plan.add) {
    if (host_named(facts, host.name) >= 0)
      return refused(fmt::format("{} is a host of the job already", host.name));
    added.push_back(host.name);
  }
  if (std::string why = too_few(facts, plan); !why.empty()) return refused(std::move(why));
  if (std::string why = why_lost(facts, plan); !why.empty()) return refused(std::move(why));
  if (const int leaving = facts.training - plan.most_nodes; facts.training > 0 && leaving > 1)
    return refused(fmt::format(
        "{} would leave at once, but each state of a training is kept on two nodes: lower the number "
        "by one at a time, or remove hosts by name: those leave one after the other",
        counted(leaving, "node")));
  const int most = largest_world(facts, plan);
  if (most > facts.most_world)
    return refused(fmt::format("{} could be in one epoch then; the job was started for at most {}",
                               counted(most, "rank"), facts.most_world));
  if (!removed.empty()) texts.push_back(names_with(removed, "is removed", "are removed"));
  if (!added.empty()) texts.push_back(names_with(added, "is added", "are added"));
  if (texts.empty()) return refused("nothing changes: give --nodes, --add or --remove");
  for (const std::string& text : texts) plan.text += (plan.text.empty() ? "" : "; ") + text;
  return plan;
}

}  // namespace ds::launcher
