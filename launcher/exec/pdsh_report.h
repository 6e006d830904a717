// Prints what pdsh prints about its hosts, at the moments at which pdsh prints it.
#pragma once

#include <csignal>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/exec/exec_output.h"
#include "launcher/exec/fanout.h"
#include "launcher/exec/pdsh_style.h"
#include "launcher/job/job_control.h"

namespace ds::launcher::exec {

/// Threads: that of `output`.
class PdshReport {
 public:
  PdshReport(PdshStyle style, std::vector<std::string> labels, ExecOutput& output,
             JobControl& control)
      : style_(std::move(style)),
        labels_(std::move(labels)),
        output_(output),
        control_(control),
        times_(labels_.size()),
        ended_(labels_.size()) {}

  void dialed(int node) { times(node).dialed = std::time(nullptr); }
  void started(int node) { times(node).started = std::time(nullptr); }
  /// Reports the end of a node, once: after its output. Nodes that were stopped are not reported.
  void ended(int node, const Fanout& fanout) {
    const auto at = static_cast<std::size_t>(node);
    if (std::exchange(ended_[at], 1) != 0) return;
    times(node).ended = std::time(nullptr);
    const bool failed_first = fanout.first_failure() == node;
    std::string text;
    if (!fanout.stopping() || failed_first)
      text = pdsh_result_text(style_, labels_[at], fanout.results()[at]);
    if (failed_first) text += style_.self + ": terminating all processes\n";
    tell_clients(text);
    output_.end_node(node, text);
  }
  /// Reports that an interrupt stops all, once.
  void look(const Fanout& fanout) {
    if (!fanout.stopping() || fanout.signo() != SIGINT || std::exchange(aborting_, true)) return;
    put(style_.self + (style_.batch ? ": batch mode" : ":") + " interrupt, aborting.\n");
  }
  void list(const std::vector<NodeStage>& stages) {
    put(pdsh_interrupt_text(style_, labels_, stages));
  }
  void canceled(int nodes) {
    put(style_.self + ": Canceled " + std::to_string(nodes) + " pending threads.\n");
  }
  void finish(const Fanout& fanout) {
    if (style_.times) put(pdsh_times_text(times_, fanout.results()));
  }

 private:
  PdshTimes& times(int node) { return times_[static_cast<std::size_t>(node)]; }
  void put(const std::string& text) {
    tell_clients(text);
    output_.put(2, text);
  }
  void tell_clients(std::string_view text) {
    if (!text.empty()) control_.say(text.substr(0, text.size() - 1));
  }

  PdshStyle style_;
  std::vector<std::string> labels_;
  ExecOutput& output_;
  JobControl& control_;
  std::vector<PdshTimes> times_;
  std::vector<std::uint8_t> ended_;  // whether ended() was called
  bool aborting_ = false;
};

}  // namespace ds::launcher::exec
