// The way of output through an agent: log file, last lines, credit, spool, channel.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "launcher/agent/agent_channel.h"
#include "launcher/logs/credit_book.h"
#include "launcher/logs/last_lines.h"
#include "launcher/logs/rank_files.h"
#include "launcher/logs/spool.h"

namespace ds::launcher {

/// Threads: one.
class OutputPath {
 public:
  /// The root takes nothing for so long: output is kept here, so that ranks go on.
  static constexpr std::chrono::milliseconds kPatience{200};
  /// The channel holds at most so much.
  static constexpr std::size_t kChannelLimit = std::size_t{1} << 20;
  /// Log files may take this long after everything else.
  static constexpr std::chrono::seconds kFilePatience{10};

  explicit OutputPath(AgentChannel& channel) : channel_(channel) {}

  /// New ranks. What waits of the old ones stays in front.
  void begin(const Spec& spec, const Envelope& envelope);
  /// What a rank wrote.
  void take(const Output& output);
  void credit(const Credit& credit);
  void watch(const Watch& watch);
  /// Each turn: sends what may go, tells of log files that cannot be written.
  void move(Clock::time_point now);

  /// Ranks may be read.
  [[nodiscard]] bool may_read() const;
  /// When move() has something to do that no descriptor tells.
  [[nodiscard]] std::optional<Clock::time_point> wake_at() const;
  /// Nothing waits here or for the disk.
  [[nodiscard]] bool done(Clock::time_point now);
  /// A line of the agent itself, for the launcher's user.
  void say(const std::string& text);

 private:
  struct Rank {
    std::size_t index = 0;  // of its files and last lines
    std::uint8_t sent = 3;  // streams
    int streams_open = 2;
  };
  [[nodiscard]] bool may_send() const;
  void forward(const Output& output);
  void keep(const Output& output, Rank& rank);
  void send_last_lines(std::int32_t number, const Rank& rank);
  void send(const Output& output);

  AgentChannel& channel_;
  Envelope envelope_;
  std::string host_;
  bool plain_ = true;  // every stream is sent, and there are no files
  bool stamped_ = false;
  std::map<std::int32_t, Rank> ranks_;
  std::optional<LastLines> last_;  // of ranks that are not sent
  std::unique_ptr<RankFiles> files_;
  std::uint64_t spool_limit_ = 0;
  std::optional<Spool> spool_;
  std::optional<std::uint64_t> credit_;
  std::uint64_t frame_ = CreditBook::kMostInFrame;  // the text of one frame
  bool discards_ = false;
  std::optional<Clock::time_point> stuck_since_;
  bool keeping_ = false;  // ranks are read though nothing can be sent: the spool takes it
  std::optional<Clock::time_point> waits_for_files_;
};

}  // namespace ds::launcher
