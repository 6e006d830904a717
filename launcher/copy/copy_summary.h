// What `dslaunch copy` and `rcopy` tell their user: progress, the summary, and one line for each
// node that failed. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/exec/results.h"

namespace ds::launcher::copy {

/// Files that grew while they were copied: logs, and files over which larger ones were written
/// before their first byte was read. Nothing tells these from logs.
struct GrownFiles {
  std::string first{};  // the line for it
  std::uint32_t count = 0;

  /// `size`: bytes that were copied; nothing: not said, so that lines of several nodes are equal.
  void add(const std::string& path, std::optional<std::uint64_t> size = {});
  /// Returns one line, or nothing if there are none.
  [[nodiscard]] std::string text() const;
};

/// How far one node is.
struct NodeOutcome {
  std::uint64_t bytes = 0;      // of data that was sent
  std::uint32_t copied = 0;     // files and links that were written
  std::uint32_t unchanged = 0;  // files that were equal already
  std::uint32_t failed = 0;
  bool finished = false;  // every entry has its result
  std::string problem{};  // the first
  GrownFiles grown{};     // of a node that sends
};

/// Formats an amount: "17 bytes", "3.4 MiB".
std::string bytes_text(std::uint64_t bytes);

/// Returns "1.2 GiB, 310.0 MiB/s, 12 of 64 nodes done".
std::string progress_text(const std::vector<NodeOutcome>& nodes, std::chrono::milliseconds spent);

/// Returns "3 files to 64 nodes: 1.2 GiB in 3.1 s, 2 nodes had all of them". `way`: "to" or "from".
std::string summary_text(const std::vector<NodeOutcome>& nodes, std::string_view way,
                         std::chrono::milliseconds spent);

/// Moves the failures of nodes that were reached from `results` to their outcome. `said`: standard
/// error of the program on each node.
void join_results(std::vector<NodeOutcome>& nodes, std::vector<exec::NodeResult>& results,
                  const std::vector<std::string>& said);

/// Returns one line for each different failure of the copy itself, with its nodes folded.
std::string failures_text(const std::vector<std::string>& names,
                          const std::vector<NodeOutcome>& nodes);

/// Returns the last line that the programs of nodes without a failure wrote to standard error, each
/// line once with its nodes folded. `said`: as of join_results().
std::string remarks_text(const std::vector<std::string>& names,
                         const std::vector<NodeOutcome>& nodes,
                         const std::vector<std::string>& said);

/// Returns a line about files that grew here, and such lines about nodes, folded.
std::string grown_text(const GrownFiles& here, const std::vector<std::string>& names,
                       const std::vector<NodeOutcome>& nodes);

/// Returns the exit code: that of `results` (69, 124), else 1 if anything was not copied.
int copy_code(const std::vector<NodeOutcome>& nodes, const std::vector<exec::NodeResult>& results);

}  // namespace ds::launcher::copy
