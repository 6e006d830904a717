// The output side of `dslaunch exec`: lines as they come, or equal outputs folded at the end.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/exec/output_tree.h"
#include "launcher/logs/line_relay.h"
#include "launcher/logs/output_queue.h"
#include "launcher/wire/frame.h"

namespace ds::launcher::exec {

/// What is folded at the end; the rest is shown as it comes.
enum class Fold { nothing, standard_output, both };

struct ExecOutputSetup {
  Fold fold = Fold::nothing;
  bool diff = false;     // of folded outputs only what differs from the most common one
  bool prefixed = true;  // `node01: ` before each line
  int out_fd = 1;
  int err_fd = 2;
};

/// Threads: the io_context's.
class ExecOutput {
 public:
  struct Events {
    std::function<void(bool)> on_pause;  // the reader is slow: stop, or go on, reading nodes
    /// Nobody reads standard output any more, or why it cannot be written; before on_written.
    std::function<void(const std::string& why)> on_closed;
    std::function<void()> on_written;  // after finish(): all is written, or nobody waits for it
  };
  ExecOutput(asio::io_context& io, const ExecOutputSetup& setup, std::vector<std::string> names,
             Events events);
  ExecOutput(const ExecOutput&) = delete;
  ExecOutput& operator=(const ExecOutput&) = delete;

  /// What the command on a node wrote. Nonsense streams are dropped.
  void take(int node, const Output& output);
  /// Lines of dslaunch itself, on standard error.
  void say(std::string_view lines);
  /// From now on no slow reader is waited for.
  void leave_slow_reader();
  /// Prints what is folded, then `last_words` on standard error if there are any. `ended`: by node,
  /// whether its command has; then no output is one too, for what differs.
  void finish(std::string_view last_words, const std::vector<bool>& ended);
  [[nodiscard]] bool paused() const { return paused_; }

 private:
  void push();
  void look_at_reader();
  void on_queue_change();

  asio::io_context& io_;
  ExecOutputSetup setup_;
  std::vector<std::string> names_;
  Events events_;
  LineRelay relay_;
  OutputTree tree_;
  OutputBuffer out_, err_;
  bool paused_ = false;
  bool waits_for_reader_ = true;
  bool finished_ = false;
  bool closed_ = false;
  OutputQueue queue_;  // last: its thread calls us until it is gone
};

}  // namespace ds::launcher::exec
