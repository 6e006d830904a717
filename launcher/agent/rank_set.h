// RankSet: all ranks of a node, with polling, reading and orders for all of them.
#pragma once

#include <poll.h>

#include <functional>
#include <memory>
#include <vector>

#include "launcher/agent/rank_process.h"

namespace ds::launcher {

/// Threads: one.
class RankSet {
 public:
  /// Forks a shim for each rank of `spec`. `bindings` has one entry for each rank.
  /// Errors:  Error{system} if the system refuses; shims forked before stay.
  void start(const Spec& spec, const EnvList& node_env, const RankSetting& setting,
             const std::vector<RankBinding>& bindings);
  /// Sends an order to all shims, or to the shim of rank `only`.
  void order(const ShimOrder& order, int only = -1);

  [[nodiscard]] auto begin() const { return ranks_.begin(); }
  [[nodiscard]] auto end() const { return ranks_.end(); }
  /// Returns true if all shims have ended and, `with_output`, all output was read.
  [[nodiscard]] bool done(bool with_output) const;
  /// Kills children of this process that are not shims.
  void kill_strays() const;

  /// Queues standard input for one rank, or (-1) for all ranks that read it.
  void add_input(const Stdin& input);
  /// Writes what the pipes take; returns the bytes that every rank has read since the last call.
  std::uint64_t feed_inputs();
  void resize(const Window& window);

  /// Adds descriptors to poll, and sets `until` to the next partial line that is due, if it is
  /// earlier. Partial lines do not age while output is not read.
  void add_polls(std::vector<pollfd>& polled, bool read_output, Clock::time_point& until);
  /// Reads the streams that are ready in `polled` while `may_read` allows it. The next call
  /// continues with the rank at which this one stopped.
  using OnOutput = std::function<void(const Output&)>;
  void read_streams(const std::vector<pollfd>& polled, Clock::time_point now,
                    const std::function<bool()>& may_read, const OnOutput& on_output);

 private:
  std::vector<std::unique_ptr<RankProcess>> ranks_;
  std::size_t first_poll_ = 0;
  std::size_t ranks_polled_ = 0;
  bool blocked_ = false;          // may_read() was false at the last call
  std::uint64_t input_told_ = 0;  // sum of what feed_inputs() has returned
  std::size_t turn_of_ = 0;       // the rank that is read first
};

}  // namespace ds::launcher
