// The root's end of a copy, for all nodes: what `copy` and `rcopy` have in common.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launcher/copy/copy_summary.h"
#include "launcher/copy/node_streams.h"

namespace ds::launcher::copy {

/// What a role needs of the loop that runs it.
struct RoleContext {
  std::vector<std::string> names;  // of the nodes
  std::vector<NodeStream> streams;
  std::vector<NodeOutcome> outcomes;
  GrownFiles grown{};  // of this machine
  std::function<void(const std::string&)> say;  // one line for the user
  std::function<void()> work_later;             // calls work() soon
  std::function<void(int node)> flush;          // sends what the stream holds

  /// Counts the result of an entry; `file`: a file or link, not a folder.
  void count(int node, const CopyResult& result, bool file) {
    NodeOutcome& outcome = outcomes[static_cast<std::size_t>(node)];
    if (!result.problem.empty()) {
      ++outcome.failed;
      if (outcome.problem.empty()) outcome.problem = result.problem;
    } else if (file) {
      ++(result.unchanged ? outcome.unchanged : outcome.copied);
    }
  }
  /// Ends the part of a node; `problem`: why it cannot go on.
  void finish(int node, const std::string& problem = {}) {
    NodeOutcome& outcome = outcomes[static_cast<std::size_t>(node)];
    if (outcome.problem.empty()) outcome.problem = problem;
    stream(node).end();
    flush(node);
  }
  NodeStream& stream(int node) { return streams[static_cast<std::size_t>(node)]; }
};

/// Threads: one.   Errors: of nodes, in their outcome.
class CopyRole {
 public:
  explicit CopyRole(RoleContext& context) : context_(context) {}
  virtual ~CopyRole() = default;
  /// The program of a node was started, or has read some bytes.
  virtual void pump(int node) = 0;
  virtual void on_message(int node, const CopyMessage& message) = 0;
  /// The program of a node has ended, or the node is lost.
  virtual void left(int /*node*/) {}
  /// Does a part of what takes long; called after work_later().
  virtual void work() {}

 protected:
  RoleContext& context_;  // NOLINT(cppcoreguidelines-non-private-member-variables-in-classes)
};

}  // namespace ds::launcher::copy
