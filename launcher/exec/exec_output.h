// Output of `dslaunch exec`: shows lines as they arrive, or folds equal outputs at the end.
#pragma once

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/exec/folded_text.h"
#include "launcher/exec/output_tree.h"
#include "launcher/exec/pdsh_style.h"
#include "launcher/job/job_facts.h"
#include "launcher/job/verdict.h"
#include "launcher/logs/flow_control.h"
#include "launcher/logs/output_stage.h"
#include "launcher/logs/relay_stage.h"
#include "launcher/wire/frame.h"

namespace ds::launcher::exec {

/// Selects the streams that are folded at the end; the others are shown as they arrive.
enum class Fold { nothing, standard_output, both };

struct ExecOutputSetup {
  Fold fold = Fold::nothing;
  bool diff = false;         // print other outputs as differences from the most common one
  bool prefixed = true;      // `node01: ` before each line; false for one node: bytes unchanged
  bool whole_lines = false;  // as pdsh: hold unfinished lines until their node has ended
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
             Events events)
      : io_(io),
        setup_(setup),
        names_(std::move(names)),
        events_(std::move(events)),
        tree_(static_cast<int>(names_.size())),
        flow_(names_.size(), events_.on_credit),
        screen_(setup.out_fd, setup.err_fd, [this] { asio::post(io_, [this] { on_change(); }); }),
        // Whole lines get their prefixes here, and pass all stages as bytes of one node.
        relay_(static_cast<int>(setup.whole_lines ? 1 : names_.size()),
               same_file(setup.out_fd, setup.err_fd), screen_),
        filter_({.shown = std::vector<std::uint8_t>(names_.size(), 3),
                 .drops = [this] { return !screen_.waits_for_reader() && screen_.is_full(); }},
                relay_),
        backlog_(
            flow_, [this](bool was) { return screen_.is_behind(was); }, filter_) {
    std::vector<std::string> prefixes;  // 2 for each node, 1 per stream
    if (setup.whole_lines) {
      for (const std::string& name : names_) prefixes.push_back(setup.prefixed ? name + ": " : "");
      lines_.emplace(std::move(prefixes));
      return;
    }
    if (!setup.prefixed && names_.size() == 1) return;
    for (const std::string& name : names_)
      prefixes.insert(prefixes.end(), 2, setup.prefixed ? name + ": " : "");
    relay_.set_prefixes(std::move(prefixes));
  }
  ExecOutput(const ExecOutput&) = delete;
  ExecOutput& operator=(const ExecOutput&) = delete;

  /// Grants the first credit to a node after its agent has received the Spec.
  void prepared(int node) { flow_.prepared(node); }
  /// Shows or keeps the output of the command on a node, and grants credit for it. Drops unknown
  /// streams. `came`: bytes of text that the agent sent.
  void take(int node, const Output& output, std::size_t came) {
    flow_.took(node, output, came);
    if (output.stream != 1 && output.stream != 2) return;
    if (output.rank == -1) return say("dslaunch: " + printable(text_of(output)));
    if (folds(output)) return tree_.add(node, output.stream, text_of(output));
    if (lines_) return put(output.stream, lines_->take(node, output.stream, text_of(output)));
    Output known = output;
    known.rank = node;
    backlog_.take(known);
  }
  /// Prints the unfinished lines of a node that has ended, then `text` on standard error.
  /// Order:   once for each node, with whole_lines only.
  void end_node(int node, std::string_view text) {
    for (const int stream : {1, 2}) put(stream, lines_->rest(node, stream));
    put(2, text);
  }
  /// Prints text with its newlines, between whole lines.
  void put(int stream, std::string_view text) {
    if (text.empty()) return;
    backlog_.take({.rank = 0,
                   .stream = static_cast<std::uint8_t>(stream),
                   .bytes = std::as_bytes(std::span(text))});
  }
  /// Grants credit only; the output goes elsewhere.
  void grant_for(int node, const Output& output, std::size_t came) {
    flow_.took(node, output, came);
  }
  /// Prints lines of dslaunch itself on standard error.
  void say(std::string_view lines) { backlog_.take(own_line(lines)); }
  /// Stops waiting for slow readers.
  void leave_slow_reader() {
    if (!screen_.leave_slow_reader()) return;
    if (flow_.held()) flow_.discard();
    asio::post(io_, [this] { on_change(); });
  }
  /// Prints the folded output, then `last_words` on standard error unless empty. `ended`: by node,
  /// whether its command has ended. With `diff`, a node that ended without output has an empty one.
  void finish(std::string last_words, std::vector<bool> ended) {
    finished_ = true;
    last_words_ = std::move(last_words);
    ended_ = std::move(ended);
    tree_.finish();
    backlog_.finish();
    on_change();
  }
  /// Returns FlowControl::still_busy().
  [[nodiscard]] bool still_busy() { return flow_.still_busy(); }

 private:
  [[nodiscard]] bool folds(const Output& output) const {
    return setup_.fold == Fold::both ||
           (setup_.fold == Fold::standard_output && output.stream == 1);
  }
  void on_change() {
    backlog_.look();
    if (screen_.is_low()) filter_.say_dropped();
    if (const auto why = screen_.closed(); why && !std::exchange(closed_, true))
      events_.on_closed(*why);
    end_when_drained();
  }
  /// Prints the folded output after all output that is shown as it arrives.
  void end_when_drained() {
    if (!finished_ || !backlog_.drained()) return;
    if (!std::exchange(folded_printed_, true)) {
      const PutText put = [this](std::string_view text) {
        screen_.buffers().out.append(text);
        screen_.push();
      };
      if (setup_.diff)
        print_diff(tree_.groups(ended_), names_, put);
      else
        print_folded(tree_.groups(), names_, put);
      if (!last_words_.empty()) say(last_words_);
    }
    if (backlog_.drained() && screen_.written()) events_.on_written();
  }

  asio::io_context& io_;
  ExecOutputSetup setup_;
  std::vector<std::string> names_;
  Events events_;
  OutputTree tree_;
  std::optional<PdshLines> lines_;
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
