// Clues in the environment: index of this node and names of its peers; parts of find_peers. Pure.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/sources/own_names.h"
#include "launcher/sources/peers.h"

namespace ds::launcher {

/// Number, with its source.
struct NumberClue {
  int value = 0;
  std::string source;  // "JOB_COMPLETION_INDEX", "--node-rank"
};

/// Reads a variable that holds an integer.
/// Errors:  Error{config} for one that holds something else.
std::optional<NumberClue> number_variable(const World& world, const std::string& name);
/// Reads the first of several variables that is set.
std::optional<NumberClue> any_number(const World& world, std::initializer_list<const char*> names);

/// Reads `4` or `2:4`.   Errors:  Error{config}.
NodeCount node_count_variable(const std::string& name, const std::string& text);

/// Splits `gpt-node-0` into {"gpt-node-", 0}. Returns nothing without a number after the last '-'.
struct Numbered {
  std::string start;
  int number = 0;
  /// Returns `start` without its '-'.
  [[nodiscard]] std::string group() const { return start.substr(0, start.size() - 1); }
};
std::optional<Numbered> split_number(std::string_view label);

/// Returns this node's index from the environment; the most reliable variable comes first.
/// Errors:  Error{config} if two variables set by orchestrators disagree.
std::optional<NumberClue> find_index(const World& world);

/// Names of the peers, and their number if the environment gives it.
struct Naming {
  std::string substrate;               // "Indexed Job"
  std::string group;                   // its name, for messages
  std::optional<NodeCount> nodes{};    // number of nodes from the environment
  std::string nodes_source{};          // "LWS_GROUP_SIZE"
  bool nodes_fixed = false;            // --nnodes must not differ
  std::vector<std::string> names{};    // by index, if listed; otherwise see name_all
  std::string start{}, end{};          // name of index i: start + i + end
  std::optional<std::string> first{};  // name of index 0, if different
  int jobs = 1;                        // names are start + job + '-' + i + end, for each job
  int job = 0;                         // index of this pod's job
  std::uint16_t port = 0;
  /// Returns the names of `count` nodes.
  [[nodiscard]] std::vector<std::string> name_all(int count) const;
};

/// Returns the names of the peers.
/// Errors:  Error{config} with what is missing if nothing gives the names.
Naming find_naming(const World& world, const PeerRequest& request,
                   const std::optional<PodName>& pod);

/// Task of a Volcano job, with its hosts.
struct VolcanoTask {
  std::string name;    // as in the variable: WORKER
  std::string source;  // "VC_WORKER_HOSTS", "/etc/volcano/worker.host"
  std::vector<std::string> hosts;
};
/// Returns all tasks that the svc plugin lists: files first, then variables.
/// Errors:  Error{config} for a list that exists but is empty.
std::vector<VolcanoTask> volcano_tasks(const World& world);
/// Returns the index of this pod's task, or npos.
std::size_t own_task(const World& world, const std::vector<VolcanoTask>& tasks);

/// Returns the only index of this machine in `names`: by full name, host name, POD_IP, own address.
std::optional<int> find_own_name(const World& world, const std::optional<PodName>& pod,
                                 const std::vector<std::string>& names);

}  // namespace ds::launcher
