// The stages that a job's output passes at the root, connected according to its options.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/job/output_plan.h"
#include "launcher/job/output_setup.h"
#include "launcher/logs/flow_control.h"
#include "launcher/logs/fold_stage.h"
#include "launcher/logs/output_stage.h"
#include "launcher/logs/prefix.h"
#include "launcher/logs/relay_stage.h"

namespace ds::launcher {

/// Backlog -> LogStage -> ShowFilter -> FoldStage -> RelayStage -> Screen; LogStage and FoldStage
/// only if requested.
class OutputChain {
 public:
  struct Setup {
    const OutputPlan& plan;
    bool fold = false;
    bool one_file = false;  // standard output and standard error are the same file
    int out_fd = 1;
    int err_fd = 2;
  };
  /// `on_change` is called from other threads: the reader or the log disk has made progress.
  /// Errors:  Error{config} for a log folder that cannot be written.
  OutputChain(const Setup& setup, FlowControl& flow, const std::function<void()>& on_change)
      : prefixes(setup.plan.prefix, setup.plan.colour[0], setup.plan.colour[1]),
        screen(setup.out_fd, setup.err_fd, on_change),
        untouched_(setup.plan.untouched),
        drop_here_(setup.plan.drop_here),
        relay_(static_cast<int>(setup.plan.shown.size()), setup.one_file, screen) {
    const bool files_here = !setup.plan.files_on_nodes && !setup.plan.files.empty();
    OutputStage* next = &relay_;
    if (setup.fold) next = &fold.emplace(prefixes, clock, relay_);
    const auto drops = [this] {
      return screen.is_full() && (drop_here_ || !screen.waits_for_reader());
    };
    next = &filter.emplace(
        ShowFilter::Setup{.shown = setup.plan.shown,
                          .drops = drops,
                          .elsewhere = files_here ? "; the log files have them" : ""},
        *next);
    if (files_here) {
      make_log_folders(setup.plan.files);
      next = &files.emplace(setup.plan.files, setup.plan.stamped_files ? &clock : nullptr,
                            on_change, *next);
    }
    front.emplace(
        flow, [this](bool was) { return is_behind(was); }, *next);
  }
  OutputChain(const OutputChain&) = delete;
  OutputChain& operator=(const OutputChain&) = delete;

  /// Starts an epoch whose ranks have these names; `shown` as in OutputPlan.
  void start(std::vector<RankName> names, const std::vector<std::uint8_t>& shown) {
    if (prefixes.ranks() == 0) clock.start();
    prefixes.set_names(std::move(names));
    if (fold) fold->start(shown);
    if (untouched_) return;
    relay_.set_prefixes(prefixes.all(clock.of(clock.started())));
    if (prefixes.has_time()) relay_.set_timed(prefixes, clock);
  }
  /// Returns whether all output that arrived is written or abandoned.
  [[nodiscard]] bool written() const {
    return front->drained() && (!files || files->written()) && screen.written();
  }

  LineClock clock;
  RankPrefixes prefixes;
  Screen screen;
  // The stages, the last one first.
  std::optional<FoldStage> fold;
  std::optional<ShowFilter> filter;
  std::optional<LogStage> files;
  std::optional<Backlog> front;

 private:
  /// Returns whether too much waits for the reader or the disk; with `was`, more than a little.
  [[nodiscard]] bool is_behind(bool was) const {
    if (!screen.waits_for_reader()) return false;
    return (!drop_here_ && screen.is_behind(was)) || (files && files->is_behind(was));
  }

  bool untouched_;
  bool drop_here_;
  RelayStage relay_;
};

}  // namespace ds::launcher
