// RankChannels: the agent's ends of the rank channels. Passes files to the KeptStore and back, news
// to the root, and orders to ranks.
#pragma once

#include <poll.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/rank_message.h"
#include "engine/base/unique_fd.h"
#include "launcher/agent/kept_store.h"
#include "launcher/agent/news_of_rank.h"

namespace ds::launcher {

/// Descriptor of the channel in a rank. kPmiFd comes before it, if the rank has one.
inline constexpr int kRankChannelFd = 3;

struct ChannelPair {
  UniqueFd ours;
  UniqueFd theirs;
};
/// Errors:  Error{system} if the system refuses.
ChannelPair make_channel_pair();

/// Never blocks. What waits for a rank is bounded: an order of each kind, replies to as many files
/// as it may have, and the names of one answer. What a rank sends is read in parts, so that no rank
/// delays the others. Threads: one.   Errors: none.
class RankChannels {
 public:
  struct End {
    std::int32_t rank = 0;
    UniqueFd fd;
  };
  RankChannels() = default;  // the ranks have no channel
  RankChannels(std::vector<End> ends, std::uint32_t epoch);

  void add_polls(std::vector<pollfd>& polled);
  /// Reads and writes what is ready in `polled`.
  void turn(const std::vector<pollfd>& polled, KeptStore& store, Clock::time_point now);
  [[nodiscard]] Clock::time_point wake_at() const;
  void order(const OrderRank& order, const KeptStore& store);
  /// The main process of a rank has ended. What it sent before is read, and its news are due.
  void ended(std::int32_t rank, KeptStore& store, Clock::time_point now);

  /// Return frames for the root that are due, and lines for the user.
  std::vector<Message> take_messages(Clock::time_point now);
  std::vector<std::string> take_lines() { return std::exchange(lines_, {}); }

 private:
  struct Answer {
    std::int64_t id = 0;
    std::deque<std::string> names{};  // of files that are not sent yet
    std::int64_t sent = 0;
  };
  struct Rank {
    std::int32_t rank = 0;
    UniqueFd fd;
    NewsOfRank news;
    bool save = false;  // orders that are not sent yet
    bool pause = false;
    std::deque<RankMessage> replies{};  // to files that the rank has handed in
    std::optional<Answer> answer{};
    bool told_problem = false;
    [[nodiscard]] bool waits() const { return save || pause || !replies.empty() || answer; }
    void forget() {
      save = pause = false;
      replies.clear();
      answer.reset();
    }
  };
  void read_some(Rank& rank, int datagrams, KeptStore& store, Clock::time_point now);
  void take(Rank& rank, RankMessage& message, UniqueFd fd, KeptStore& store, Clock::time_point now);
  void keep(Rank& rank, const KeepFile& file, UniqueFd fd, KeptStore& store);
  static void write_some(Rank& rank, const KeptStore& store);

  std::uint32_t epoch_ = 0;
  std::vector<Rank> ranks_;
  std::vector<std::string> lines_;
  std::size_t first_poll_ = 0;
  bool polled_ = false;  // add_polls() was called since the last turn()
};

}  // namespace ds::launcher
