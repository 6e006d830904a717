// OutputPath: sends a rank's output to the root while the root grants credit, and spools it on disk
// otherwise; also writes log files and keeps last lines. Order is kept.
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
