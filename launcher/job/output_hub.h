// The output side of a job: lines of ranks and of the launcher on their way to the two streams and
// to log files.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/job/life.h"
#include "launcher/job/output_plan.h"
#include "launcher/logs/credit_book.h"
#include "launcher/logs/last_lines.h"
#include "launcher/logs/line_fold.h"
#include "launcher/logs/line_relay.h"
#include "launcher/logs/node_clock.h"
#include "launcher/logs/output_queue.h"
#include "launcher/logs/rank_files.h"
#include "launcher/logs/spool.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Threads: the io_context's.
/// Memory:  what OutputQueue and RankFiles hold, and what came on credit: that waits unformatted.
class OutputHub {
 public:
  struct Events {
    std::function<void(int, const Credit&)> on_credit;  // for an agent
    // Nobody reads standard output any more, or (a reason) it cannot be written. Comes again and
    // again, and always before on_written.
    std::function<void(std::string)> on_closed;
    std::function<void()> on_written;  // after finish(): all is written, or nobody waits for it
  };
  struct Setup {
    const Placement& placement;
    const LogPolicy& policy;
    std::string job_id;
    bool follow_first = false;  // standard output of rank 0 is sent even if nobody sees it
    int out_fd = 1;
    int err_fd = 2;
  };
  /// Errors:  Error{usage} for ranks that do not exist; Error{config} for a log folder that cannot
  ///          be written.
  OutputHub(asio::io_context& io, const Setup& setup, Events events);
  OutputHub(const OutputHub&) = delete;
  OutputHub& operator=(const OutputHub&) = delete;

  /// The part of a Spec that is about output.
  void fill(Spec& spec, const Placement& placement);
  /// The agent has its Spec: gives it its first credit.
  void prepared(int agent);
  /// Ranks start now; `hosts` by node, as the machines call themselves.
  void start(const Placement& placement, const std::vector<std::string>& hosts);

  // What agents say.
  void greeted(int agent, const Hello& hello);
  void heard(int agent, const Heartbeat& beat);
  /// What a rank wrote. Nonsense ranks and streams are dropped. `came`: bytes that the agent sent.
  void take(int agent, const Output& output, std::size_t came);
  void take(int agent, const Output& output) { take(agent, output, output.bytes.size()); }

  // What others may ask for (output_watch.cpp).
  /// When an agent says that something was written, on our clock; rough unless prefixes need it.
  [[nodiscard]] Clock::time_point written_at(int agent, std::uint64_t agent_time);
  /// Before lines of a rank, without colour.
  [[nodiscard]] std::string plain_prefix(int rank, int stream, Clock::time_point at) const;
  [[nodiscard]] bool shows(int rank, int stream) const { return plan_.shows(rank, stream); }
  /// Somebody wants all that a rank writes, or nobody any more: the streams that its agent is to
  /// send from now on, if that changes.
  std::optional<std::uint8_t> watch(int rank, bool on);

  /// A line of the launcher itself, on standard error.
  void say(std::string_view line);
  /// Hands on what take() and say() have collected.
  void push();
  /// The user has asked for the end: from now on no reader is waited for.
  void leave_slow_reader();
  /// Nothing more comes of ranks; on_written follows, and again after each later call: what
  /// say() has said meanwhile is written too.
  void finish();

  /// Output still comes since the last call, or agents hold it back because the reader is slow:
  /// their last word stands behind it.
  [[nodiscard]] bool still_busy() { return std::exchange(some_came_, false) || book_.held(); }
  /// An agent's reading on our clock, if anything is known of its clock.
  [[nodiscard]] std::optional<NodeClock::Reading> reading(int agent, std::uint64_t agent_time) {
    return agent_at(agent).clock.reading(agent_time);
  }
  /// How much others have shown since a rank last did; as much as can be if it is not shown.
  [[nodiscard]] std::uint64_t bytes_since(int rank) const {
    const auto index = static_cast<std::size_t>(rank);
    return plan_.shown[index] == 3 ? taken_ - taken_after_[index] : UINT64_MAX;
  }
  /// The last lines of a rank, for the verdict.
  [[nodiscard]] std::vector<std::string> last_lines(int rank) const { return last_.of(rank); }

 private:
  struct Agent {
    NodeClock clock{};
    bool has_credit = false;
  };
  struct FoldPrefix {  // of the last folded line
    std::vector<int> ranks{};
    Clock::time_point at{};
    std::string text{};
  };
  Agent& agent_at(int agent);
  void wait_or_pass(const Output& output);
  void pass(const Output& output);
  void show(const Output& output, std::string_view text, Clock::time_point at);
  void show_folded(int stream, const FoldedLine& line);
  void keep(const Output& output, std::string_view text, Clock::time_point at);
  [[nodiscard]] LineTime line_time(Clock::time_point at) const;
  [[nodiscard]] std::string prefix_of(std::span<const RankName* const> ranks, int stream,
                                      Clock::time_point at) const;
  void on_change();
  void write_out();
  [[nodiscard]] bool is_behind(bool was) const;
  void look_at_reader();
  void flush_last();
  void say_dropped();
  void say_problem();
  void leave_when_written();
  void arm_fold_timer();
  RelayOutput screens() { return {out_, err_}; }

  asio::io_context& io_;
  Life life_;
  Events events_;
  LogPolicy policy_;
  std::string job_id_;
  OutputPlan plan_;
  std::vector<RankName> names_;  // by rank, once ranks have started
  std::set<int> watched_;        // ranks
  std::vector<Agent> agents_;
  Clock::time_point started_;
  std::chrono::system_clock::time_point started_wall_;
  LineRelay relay_;
  LastLines last_;
  std::uint64_t taken_ = 0;                 // bytes
  std::vector<std::uint64_t> taken_after_;  // by rank: with what it last wrote
  std::optional<LineFold> folds_[2];        // of stdout and stderr
  FoldPrefix fold_prefixes_[2];
  asio::steady_timer fold_timer_;
  bool fold_armed_ = false;
  CreditBook book_;
  Spool waiting_;  // as it came, while the reader is slow: with their times on our clock
  OutputBuffer out_, err_;
  std::uint64_t dropped_lines_ = 0;
  bool some_came_ = false;
  bool waits_for_reader_ = true;
  bool finished_ = false;
  bool flushed_ = false;         // after that: the last byte has been passed to the queue
  asio::steady_timer patience_;  // with log files, once finished
  bool out_of_patience_ = false;
  // Last: their threads call us until they are gone.
  OutputQueue queue_;
  std::unique_ptr<RankFiles> files_;
};

}  // namespace ds::launcher
