// PMI for the ranks of one node: the key-value space, attributes of the node, and fences with other
// nodes. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/mpi/key_values.h"
#include "launcher/mpi/pmi_rank.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Bytes of all keys and values on a node. A put beyond it is refused.
inline constexpr std::size_t kMaxSpaceBytes = std::size_t{256} << 20;

/// Promise: a fence costs one FenceIn to the root and one FenceOut back, if its pairs fit into one
///          frame. Each pair is sent to the root once, and not at all by a node that has all ranks.
///          A rank that breaks the protocol loses its connection and causes one MpiFailed; no bytes
///          of a rank disturb other ranks.
/// Threads: one.   Errors: none.
class PmiNode {
 public:
  /// Ranks that wait for others of the node are reported after this time, and again after as long
  /// if the missing ranks have changed.
  static constexpr std::chrono::seconds kReportAfter{1};
  /// A rank that has closed its end too early has this time to end, so that its exit status is the
  /// cause that is reported.
  static constexpr std::chrono::seconds kEndWithin{1};

  PmiNode(const Spec& spec, const std::string& space);

  // Events. `index` counts the ranks of Spec::ranks.
  void take(std::size_t index, std::string_view bytes, Clock::time_point now);
  /// The rank has closed its end.
  void closed(std::size_t index, Clock::time_point now);
  /// The main process of the rank has ended. Background processes may still use the connection.
  void ended(std::size_t index, int wait_status, Clock::time_point now);
  void take(FenceOut&& message);
  void take(const NameAnswer& message);
  void tick(Clock::time_point now);
  [[nodiscard]] Clock::time_point wake_at() const;
  /// Returns the index of a rank by its number.
  [[nodiscard]] std::optional<std::size_t> index_of(std::int32_t rank) const;

  // What follows from events.
  struct Answer {
    std::size_t index = 0;
    std::string text{};
    bool close = false;  // the connection ends after the text
    friend bool operator==(const Answer&, const Answer&) = default;
  };
  std::vector<Answer> take_answers() { return std::exchange(answers_, {}); }
  std::vector<Message> take_messages() { return std::exchange(messages_, {}); }
  /// Returns lines for the user.
  std::vector<std::string> take_lines() { return std::exchange(lines_, {}); }

 private:
  struct Rank {
    std::int32_t number;
    PmiRank state;
    std::string wanted{};   // the node attribute that it waits for
    bool closed = false;    // its end of the connection
    bool exited = false;    // its main process, with 0
    bool reported = false;  // no more failures are
    std::optional<Clock::time_point> end_due{};
  };
  using Pairs = std::unordered_map<std::string, std::string>;

  void perform(std::size_t index, PmiStep step, Clock::time_point now);
  void answer(std::size_t index, std::string text, bool close = false) {
    answers_.push_back({index, std::move(text), close});
  }
  void fail(Rank& rank, std::int32_t code, std::string text, Clock::time_point now);
  void put(std::size_t index, PmiPut step);
  void put_attribute(std::size_t index, const PmiPut& step);
  void get(std::size_t index, const PmiGet& step);
  void look_for_hopeless_waits(Clock::time_point now);
  [[nodiscard]] bool is_unfinished(const Rank& rank) const;
  void join(Clock::time_point now);
  [[nodiscard]] bool has_room_for(const PmiPut& step) const;
  void store(const std::string& key, std::string value) { store(space_, key, std::move(value)); }
  void store(Pairs& pairs, const std::string& key, std::string value);
  [[nodiscard]] std::vector<std::int32_t> missing() const;

  std::vector<Rank> ranks_;
  bool alone_;               // the job has one rank
  bool tells_init_;          // ranks may also use PMIx
  bool has_all_;             // the node has all ranks of the job
  Pairs space_;              // of the job
  Pairs attributes_;         // of the node
  std::size_t bytes_ = 0;    // of both
  std::set<std::string> new_keys_;  // put since the last fence
  std::size_t waiting_ = 0;  // ranks in the fence
  std::optional<Clock::time_point> report_at_;
  std::vector<std::int32_t> reported_;  // by the last FenceWaits of this fence
  std::vector<Answer> answers_;
  std::vector<Message> messages_;
  std::vector<std::string> lines_;
};

}  // namespace ds::launcher
