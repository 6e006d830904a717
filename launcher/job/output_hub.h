// The output side of a job: connects the stages between the agents and the terminal according to
// the options, and drives them by timers and events.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/fleet/wake_timer.h"
#include "launcher/job/output_plan.h"
#include "launcher/logs/flow_control.h"
#include "launcher/logs/fold_stage.h"
#include "launcher/logs/last_lines.h"
#include "launcher/logs/node_clock.h"
#include "launcher/logs/output_stage.h"
#include "launcher/logs/prefix.h"
#include "launcher/logs/relay_stage.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// agents -> FlowControl -> NodeClocks -> LastLines -> Backlog -> LogStage -> ShowFilter ->
/// FoldStage -> RelayStage -> Screen; LogStage and FoldStage only if requested.
/// Threads: the io_context's.
/// Memory:  what OutputQueue and RankFiles hold, and unformatted what nodes may send on credit.
class OutputHub {
 public:
  struct Events {
    FlowControl::OnCredit on_credit;  // for an agent
    // Gets why standard output cannot be written; empty: it has no reader any more. Repeated, and
    // always before on_written.
    std::function<void(std::string)> on_closed;
    std::function<void()> on_written;  // after finish(): all is written or abandoned
  };
  struct Setup {
    const Placement& placement;  // of the largest epoch
    const LogPolicy& policy;
    std::string job_id;
    bool follow_first = false;  // standard output of rank 0 is sent even if it is not shown
    int out_fd = 1;
    int err_fd = 2;
  };
  /// Errors:  Error{usage} for ranks that do not exist; Error{config} for a log folder that cannot
  ///          be written.
  OutputHub(asio::io_context& io, const Setup& setup, Events events);
  OutputHub(const OutputHub&) = delete;
  OutputHub& operator=(const OutputHub&) = delete;

  /// Fills the part of a Spec that is about output.
  void fill(Spec& spec, const Placement& placement);
  /// Grants the first credit of an agent that was sent its Spec.
  void prepared(int agent) { flow_.prepared(agent); }
  /// Starts an epoch. `hosts`: the machines' own names, by node.
  void start(const Placement& placement, const std::vector<std::string>& hosts);

  /// Returns the clock of an agent, to be told of its Hello and Heartbeats.
  [[nodiscard]] NodeClock& clock(int agent) { return clocks_.of(agent); }
  /// Takes output of a rank; drops unknown ranks and streams. `came`: bytes that the agent sent.
  void take(int agent, const Output& output, std::size_t came);
  void take(int agent, const Output& output) { take(agent, output, output.bytes.size()); }

  /// Shows a line of the launcher itself, on standard error.
  void say(std::string_view line) { front_->take(own_line(line)); }
  /// Stops waiting for a slow reader, after the user has stopped the job.
  void leave_slow_reader();
  /// Ends the ranks' output; on_written follows, also after each later say().
  void finish();

  /// Calls FlowControl::still_busy().
  [[nodiscard]] bool still_busy() { return flow_.still_busy(); }
  /// Calls ShowFilter::bytes_since().
  [[nodiscard]] std::uint64_t bytes_since(int rank) const { return filter_->bytes_since(rank); }
  /// Returns the last lines of a rank, for the verdict.
  [[nodiscard]] std::vector<std::string> last_lines(int rank) const { return last_.of(rank); }
  /// Returns a line for this machine and for each node whose log files are incomplete, once all is
  /// written.
  [[nodiscard]] std::vector<std::string> incomplete_logs() const;

  // For `tail` and `attach`.
  /// Converts an agent's time of writing to our clock; only roughly unless prefixes need it.
  [[nodiscard]] Clock::time_point written_at(int agent, std::uint64_t agent_time) {
    const Clock::time_point now = Clock::now();
    return prefixes_.has_time() ? clocks_.of(agent).here(agent_time, now) : now;
  }
  /// Returns OutputPlan::live_columns.
  [[nodiscard]] int live_columns() const { return plan_.live_columns; }
  /// Returns the prefix of a rank's lines, without color.
  [[nodiscard]] std::string plain_prefix(int rank, int stream, Clock::time_point at) const {
    if (plan_.untouched || static_cast<std::size_t>(rank) >= prefixes_.ranks()) return {};
    return prefixes_.plain(rank, stream, clock_.of(at));
  }
  [[nodiscard]] bool shows(int rank, int stream) const { return plan_.shows(rank, stream); }
  /// Turns watching of all output of a rank on or off. Returns the streams that its agent must
  /// send from now on, if that changes.
  std::optional<std::uint8_t> watch(int rank, bool on);

 private:
  void connect_stages(bool fold);
  /// Returns whether too much waits for the reader or the disk; with `was`, more than a little.
  [[nodiscard]] bool is_behind(bool was) const {
    if (!screen_.waits_for_reader()) return false;
    return (!plan_.drop_here && screen_.is_behind(was)) || (files_ && files_->is_behind(was));
  }
  /// Runs on_change() on the event loop; called from any thread.
  void change_soon();
  void on_change();
  void arm_fold_timer();

  asio::io_context& io_;
  Life life_;
  Events events_;
  LogPolicy policy_;
  std::string job_id_;
  OutputPlan plan_;
  std::set<int> watched_;                  // ranks
  std::vector<RankName> names_;            // by rank; of its last epoch, if it has ended
  std::map<int, std::string> incomplete_;  // by agent
  FlowControl flow_;
  NodeClocks clocks_;
  LastLines last_;
  LineClock clock_;
  RankPrefixes prefixes_;
  Screen screen_;
  // The stages, the last one first.
  RelayStage relay_;
  std::optional<FoldStage> fold_;
  std::optional<ShowFilter> filter_;
  std::optional<LogStage> files_;
  std::optional<Backlog> front_;
  asio::steady_timer fold_timer_;
  asio::steady_timer patience_;  // for log files, once the ranks are done
  bool fold_armed_ = false;
  bool finished_ = false;
};

}  // namespace ds::launcher
