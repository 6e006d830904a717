// The agent's end of the channel, and the path of output onto it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "launcher/logs/flow_control.h"
#include "launcher/logs/last_lines.h"
#include "launcher/logs/rank_files.h"
#include "launcher/logs/spool.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Reads and writes frames without blocking. Frames that nobody needs at once (a start, a good end,
/// the end of a stream) wait up to kPatience for other frames, because each write wakes an sshd and
/// the root. Any other frame sends them along. Threads: one.
class AgentChannel {
 public:
  static constexpr std::chrono::milliseconds kPatience{20};
  /// Most bytes of control frames that wait before heartbeats, news and lines are held back. Other
  /// frames answer the root or a rank that waits, so their number has a limit.
  static constexpr std::size_t kControlLimit = std::size_t{1} << 20;

  AgentChannel(int in, int out);

  /// Reads what has arrived; returns false at the end of the channel.
  bool read_some();
  std::optional<Frame> next() { return decoder_.next(); }
  [[nodiscard]] const std::optional<std::string>& error() const { return decoder_.error(); }

  /// Queues text, for the first frame to take along.
  void send_text(std::string_view text);
  /// Queues a frame before all waiting output. The next flush writes it, so that a turn of the loop
  /// makes one write.
  void send_control(const Envelope& envelope, const Message& message);
  /// Queues a frame after all that waits: Bye promises that no output is missing.
  void send_last(const Envelope& envelope, const Message& message);
  /// Writes at once if nothing waits, and queues a copy of what the system does not take.
  void send_output(const Envelope& envelope, const Output& output);
  /// Writes what waits, as far as the system takes it.
  void flush();
  /// Calls flush(), unless all that waits may wait longer.
  void flush_due(Clock::time_point now) {
    if (!held_until_ || now >= *held_until_) flush();
  }
  /// Returns when flush_due() must be called; max() if it need not be.
  [[nodiscard]] Clock::time_point wake_at() const {
    return held_until_.value_or(Clock::time_point::max());
  }

  [[nodiscard]] int in() const { return in_.get(); }
  [[nodiscard]] int out() const { return out_.get(); }
  /// Returns the bytes of output that wait; callers stop above a limit.
  [[nodiscard]] std::size_t output_waiting() const { return output_waiting_; }
  /// Returns false while the root does not read: see kControlLimit.
  [[nodiscard]] bool takes_news() const { return control_waiting_ < kControlLimit; }
  [[nodiscard]] bool anything_waiting() const {
    return !broken_ && (!current_.empty() || !control_.empty() || !output_.empty());
  }
  /// Returns true if frames wait for the system.
  [[nodiscard]] bool blocked() const { return anything_waiting() && !held_until_; }

 private:
  void hold() {
    if (!anything_waiting()) held_until_ = Clock::now() + kPatience;
  }
  void queue_output(Bytes frame);
  bool write_current();
  bool load_next();

  UniqueFd in_;
  UniqueFd out_;
  bool broken_ = false;
  Decoder decoder_;
  std::optional<Clock::time_point> held_until_;  // all that waits may wait until then
  Bytes current_;                                // partly written
  std::size_t written_ = 0;
  std::deque<Bytes> control_;
  std::deque<Bytes> output_;
  std::size_t output_waiting_ = 0;
  std::size_t control_waiting_ = 0;
};

/// Sends a rank's output to the root while the root grants credit, and spools it on disk otherwise;
/// also writes log files and keeps last lines. Order is kept. Threads: one.
class OutputPath {
 public:
  /// Time without credit after which output is spooled, so that ranks can go on.
  static constexpr std::chrono::milliseconds kPatience{200};
  /// Most bytes of output that wait in the channel.
  static constexpr std::size_t kChannelLimit = std::size_t{1} << 20;
  /// How long the end waits for log files.
  static constexpr std::chrono::seconds kFilePatience{10};

  explicit OutputPath(AgentChannel& channel) : channel_(channel) {}

  /// Starts with new ranks. Waiting output of earlier ranks stays in front.
  void begin(const Spec& spec, const Envelope& envelope);
  /// Takes output of a rank.
  void take(const Output& output);
  void credit(const Credit& credit);
  void watch(const Watch& watch);
  /// Called in each turn: sends what credit allows, and reports log files that cannot be written.
  void move(Clock::time_point now);

  /// Returns true if there is room for more output of ranks.
  [[nodiscard]] bool may_read() const;
  /// Returns when move() has work that no descriptor shows; max(): never.
  [[nodiscard]] Clock::time_point wake_at() const;
  /// Returns true if no output waits here or for the disk.
  [[nodiscard]] bool done(Clock::time_point now);
  /// Sends a line of the agent itself, for the user.
  void say(const std::string& text, std::uint8_t flags = 0);

 private:
  struct Rank {
    std::size_t index = 0;  // in files_ and last_
    std::uint8_t sent = 3;  // streams that the root wants
    int streams_open = 2;
  };
  [[nodiscard]] bool may_send() const;
  void keep(const Output& output, Rank& rank);
  void send_last_lines(std::int32_t number, const Rank& rank);
  void send(const Output& output);
  void report_files();

  AgentChannel& channel_;
  Envelope envelope_;
  bool plain_ = true;  // every stream is sent, and there are no log files
  bool stamped_ = false;
  std::map<std::int32_t, Rank> ranks_;
  std::optional<LastLines> last_;  // of streams that are not sent
  std::unique_ptr<RankFiles> files_;
  std::uint64_t spool_limit_ = 0;
  std::optional<Spool> spool_;
  std::optional<std::uint64_t> credit_;
  std::uint64_t frame_ = CreditBook::kMostInFrame;  // most text in one frame
  std::optional<Clock::time_point> stuck_since_;
  bool keeping_ = false;  // output goes to the spool
  std::optional<Clock::time_point> waits_for_files_;
};

}  // namespace ds::launcher
