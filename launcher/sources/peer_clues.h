// What the environment says of this node's number and of how peers are called; parts of
// find_peers. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/sources/peers.h"
#include "launcher/sources/pod_name.h"

namespace ds::launcher {

/// A number, and who says it.
struct NumberClue {
  int value = 0;
  std::string source;  // "JOB_COMPLETION_INDEX", "--node-rank"
};

/// A variable that holds a whole number.
/// Errors:  Error{config} for one that holds something else.
std::optional<NumberClue> number_variable(const World& world, const std::string& name);

/// The same of `4` or `2:4`.
NodeCount node_count_variable(const std::string& name, const std::string& text);

/// `gpt-node-0` -> {"gpt-node-", 0}; nothing without a number behind a '-' at the end.
struct Numbered {
  std::string start;
  int number = 0;
};
std::optional<Numbered> split_number(std::string_view label);

/// This node's number as the environment has it, the surest first.
/// Errors:  Error{config} where two variables that orchestrators set do not agree.
std::optional<NumberClue> find_index(const World& world);

/// How the peers are called, and how many there are where the environment says so.
struct Naming {
  std::string substrate;               // "Indexed Job"
  std::string group;                   // its name, for people
  std::optional<NodeCount> nodes{};    // what the environment says of their number
  std::string nodes_source{};          // "LWS_GROUP_SIZE"
  bool nodes_fixed = false;            // --nnodes cannot say anything else
  std::vector<std::string> names{};    // by index, if they are listed; else by name_of
  std::string start{}, end{};          // name of index i: start + i + end
  std::optional<std::string> first{};  // the name of index 0, if it is another one
  int jobs = 1;                        // names are start + job + '-' + i + end, `jobs` times
  int job = 0;                         // this one's
  std::uint16_t port = 0;
  /// All names for so many nodes.
  [[nodiscard]] std::vector<std::string> name_all(int count) const;
};

/// Errors:  Error{config}: nothing says how peers are called, and what was missing.
Naming find_naming(const World& world, const PeerWish& wish, const std::optional<PodName>& pod);

/// One task of a Volcano job and its hosts.
struct VolcanoTask {
  std::string name;    // as in the variable: WORKER
  std::string source;  // "VC_WORKER_HOSTS", "/etc/volcano/worker.host"
  std::vector<std::string> hosts;
};
/// All that the svc plugin tells: files first, then variables.
/// Errors:  Error{config} for a list that is there and empty.
std::vector<VolcanoTask> volcano_tasks(const World& world);
/// The task that this pod is of: its place in the list, or npos.
std::size_t own_task(const World& world, const std::vector<VolcanoTask>& tasks);

/// The one place of this machine among `names`: by host name, full name, POD_IP, own address.
std::optional<int> find_own_name(const World& world, const std::optional<PodName>& pod,
                                 const std::vector<std::string>& names);

}  // namespace ds::launcher
