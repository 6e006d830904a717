// Output of `dslaunch exec`: shows lines as they arrive, or folds equal outputs at the end.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/exec/output_tree.h"
#include "launcher/logs/flow_control.h"
#include "launcher/logs/output_stage.h"
#include "launcher/logs/relay_stage.h"
#include "launcher/wire/frame.h"

namespace ds::launcher::exec {

/// Selects the streams that are folded at the end; the others are shown as they arrive.
enum class Fold { nothing, standard_output, both };

struct ExecOutputSetup {
  Fold fold = Fold::nothing;
  bool diff = false;     // print other outputs as differences from the most common one
  bool prefixed = true;  // `node01: ` before each line; false for one node: bytes unchanged
  int out_fd = 1;
  int err_fd = 2;
};

/// Builds the stages and holds the folded output. Threads: the io_context's.
/// Memory:  that of OutputQueue, of the credit that nodes have, and of the OutputTree.
class ExecOutput {
 public:
  struct Events {
    FlowControl::OnCredit on_credit;  // for the agent of a node
    /// Standard output has lost its reader (`why` is empty) or cannot be written. Comes before
    /// on_written.
    std::function<void(const std::string& why)> on_closed;
    std::function<void()> on_written;  // after finish(): all is written, or the reader is given up
  };
  ExecOutput(asio::io_context& io, const ExecOutputSetup& setup, std::vector<std::string> names,
             Events events);
  ExecOutput(const ExecOutput&) = delete;
  ExecOutput& operator=(const ExecOutput&) = delete;

  /// Grants the first credit to a node after its agent has received the Spec.
  void prepared(int node) { flow_.prepared(node); }
  /// Shows or keeps the output of the command on a node, and grants credit for it. Drops unknown
  /// streams. `came`: bytes of text that the agent sent.
  void take(int node, const Output& output, std::size_t came);
  /// Grants credit only; the output goes elsewhere.
  void grant_for(int node, const Output& output, std::size_t came) {
    flow_.took(node, output, came);
  }
  /// Prints lines of dslaunch itself on standard error.
  void say(std::string_view lines) { backlog_.take(own_line(lines)); }
  /// Stops waiting for slow readers.
  void leave_slow_reader();
  /// Prints the folded output, then `last_words` on standard error unless empty. `ended`: by node,
  /// whether its command has ended. With `diff`, a node that ended without output has an empty one.
  void finish(std::string last_words, std::vector<bool> ended);
  /// Returns FlowControl::still_busy().
  [[nodiscard]] bool still_busy() { return flow_.still_busy(); }

 private:
  [[nodiscard]] bool folds(const Output& output) const;
  void on_change();
  void end_when_drained();

  asio::io_context& io_;
  ExecOutputSetup setup_;
  std::vector<std::string> names_;
  Events events_;
  OutputTree tree_;
  FlowControl flow_;
  Screen screen_;
  // The stages, last one first.
  RelayStage relay_;
  ShowFilter filter_;
  Backlog backlog_;
  std::string last_words_;
  std::vector<bool> ended_;
  bool finished_ = false;
  bool folded_printed_ = false;
  bool closed_ = false;
};

}  // namespace ds::launcher::exec
