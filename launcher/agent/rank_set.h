// All ranks of a node: what they are waited for, read from and told together.
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
  /// Forks a shim for each rank of `spec`; a binding for each. Errors: Error{system}; those already
  /// forked stay.
  void start(const Spec& spec, const EnvList& node_env, const RankSetting& setting,
             const std::vector<RankBinding>& bindings);
  /// To all, or to one of them.
  void order(const ShimOrder& order, int only = -1);

  [[nodiscard]] auto begin() const { return ranks_.begin(); }
  [[nodiscard]] auto end() const { return ranks_.end(); }
  /// All shims have ended, and all output has been read unless nobody waits for it.
  [[nodiscard]] bool done(bool with_output) const;
  /// Kills children of this process that are none of the shims.
  void kill_strays() const;

  /// For the standard input of one rank, or (-1) of all that have one.
  void add_input(const Stdin& input);
  /// Writes what can be written; returns what all of them have taken since the last call.
  std::uint64_t feed_inputs();
  void resize(const Window& window);

  /// Adds what to wait for, and brings `until` forward to the next partial line that is due. While
  /// output is not read no line stands still.
  void add_polls(std::vector<pollfd>& polled, bool read_output, Clock::time_point& until);
  /// Reads the streams that `polled` says are ready, as long as `may_read` allows it; where it has
  /// stopped, the next call goes on.
  using OnOutput = std::function<void(const Output&)>;
  void read_streams(const std::vector<pollfd>& polled, Clock::time_point now,
                    const std::function<bool()>& may_read, const OnOutput& on_output);

 private:
  std::vector<std::unique_ptr<RankProcess>> ranks_;
  std::size_t first_poll_ = 0;
  std::size_t ranks_polled_ = 0;
  bool blocked_ = false;          // what the ranks write is not read
  std::uint64_t input_told_ = 0;  // of what feed_inputs() has returned
  std::size_t turn_of_ = 0;       // who is read first: whoever had to wait
};

}  // namespace ds::launcher
