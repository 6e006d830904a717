// Facts of all nodes -> what is wrong with which. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/doctor/facts.h"
#include "launcher/exec/results.h"

namespace ds::launcher::doctor {

/// What is known of one node.
struct NodeReport {
  std::string name;
  int slots = 1;
  std::vector<int> devices{};  // of its slots, when some were chosen
  exec::NodeResult result{};   // of the program that looked around there
  Facts facts{};
  std::string said{};          // its last words on standard error
  std::string address{};       // by which it was reached; empty: it is this machine
  std::string reverse_name{};  // of the address; empty: it has none
  /// How far its clock is ahead of this one's: between these, in milliseconds.
  std::optional<std::int64_t> clock_from{}, clock_to{};
  [[nodiscard]] bool reached() const { return !facts.version.empty(); }
};

/// What a finding is about: a column of the table, or something that has none.
enum class Subject {
  node,
  dslaunch,
  system,
  cores,
  memory,
  gpus,
  shm,
  files,
  locked,
  folder,
  clock,
  address
};

struct Finding {
  enum class Level { error, warning };
  Level level = Level::warning;
  int node = -1;  // -1: of all together
  Subject subject = Subject::node;
  std::string text{};  // without the node's name
  friend bool operator==(const Finding&, const Finding&) = default;
};

/// In the order of the nodes; those of all together last.
/// A node is an error if it could not be used for a job: not reached, not answering, with fewer
/// GPUs than slots, without the working directory or a path that was asked for, or where `dsrunner
/// --check` fails. Whatever differs from most nodes, and what is known to make trouble, is a
/// warning.
std::vector<Finding> check_nodes(const std::vector<NodeReport>& nodes);

/// Nodes without an error, by index.
std::vector<int> good_nodes(const std::vector<NodeReport>& nodes,
                            const std::vector<Finding>& findings);

}  // namespace ds::launcher::doctor
