// Checks of the doctor: facts of all nodes become errors and warnings. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/doctor/facts.h"
#include "launcher/exec/results.h"

namespace ds::launcher::doctor {

/// Everything known about one node.
struct NodeReport {
  std::string name;
  int slots = 1;
  std::vector<int> devices{};  // devices of its slots, if some were chosen
  exec::NodeResult result{};   // result of `node-facts` there
  Facts facts{};
  std::string said{};          // last line on standard error
  std::string address{};       // address of the connection; empty for this machine
  std::string reverse_name{};  // name of the address; empty if it has none
  /// Bounds of its clock's lead over this machine's clock, in ms.
  std::optional<std::int64_t> clock_from{}, clock_to{};
  [[nodiscard]] bool reached() const { return !facts.version.empty(); }
};

/// Subject of a finding: a column of the table, or something without a column.
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
  folder,  // the working directory
  tmp,
  clock,
  address
};

struct Finding {
  enum class Level { error, warning };
  Level level = Level::warning;
  int node = -1;  // -1: all nodes together
  Subject subject = Subject::node;
  std::string text{};  // without the name of the node
  friend bool operator==(const Finding&, const Finding&) = default;
};

/// Returns the findings in node order, those about all nodes last.
/// Errors are findings that make a node unusable for a job: not reached, no answer, fewer GPUs than
/// slots, no working directory, a missing path of --path, or a failed `dsrunner --check`. Warnings
/// are differences from most nodes and known causes of failures.
std::vector<Finding> check_nodes(const std::vector<NodeReport>& nodes);

/// Returns the indexes of the nodes without an error.
std::vector<int> good_nodes(const std::vector<NodeReport>& nodes,
                            const std::vector<Finding>& findings);

}  // namespace ds::launcher::doctor
