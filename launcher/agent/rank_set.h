// The ranks of a node as their agent sees them: shims, their reports, and the standard streams.
#pragma once

#include <poll.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/agent/cgroups.h"
#include "launcher/agent/rank_binding.h"
#include "launcher/agent/rank_channels.h"
#include "launcher/agent/shim.h"
#include "launcher/logs/line_batcher.h"

namespace ds::launcher {

struct RankPipe {
  UniqueFd ours;    // non-blocking
  UniqueFd theirs;  // becomes a standard descriptor of the rank
};

/// Errors:  Error{system} if the system refuses.
RankPipe make_input_pipe();

/// Bytes that wait for a rank to read them. Never blocks. A rank that has closed its standard input
/// or has ended counts as having read everything.
class RankInput {
 public:
  RankInput() = default;  // the rank has no standard input
  explicit RankInput(UniqueFd fd) : fd_(std::move(fd)), exists_(true) {}

  [[nodiscard]] bool exists() const { return exists_; }
  /// Returns the descriptor to poll for writing; -1: nothing waits.
  [[nodiscard]] int waits_for() const { return waiting() > 0 ? fd_.get() : -1; }
  /// Queues bytes; `last`: end of file after them.
  void add(std::span<const std::byte> bytes, bool last);
  void write_some();
  /// Drops what waits: the rank does not read any more.
  void close();
  /// Returns how many of the added bytes the rank has read.
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  [[nodiscard]] std::size_t waiting() const { return bytes_.size() - begin_; }
  UniqueFd fd_;
  bool exists_ = false;
  bool last_ = false;
  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0;
  std::uint64_t taken_ = 0;
};

/// Settings that all ranks of an agent share.
struct RankSetting {
  pid_t agent = 0;  // the process that shims watch; 0 in a PID namespace
  ProcessRef guard{};
  CgroupPlace cgroups{};
  Cookie cookie{};
  std::uint32_t epoch = 0;
  bool suspended = false;  // ranks stop right after exec
};

using OnOutput = FunctionRef<void(const Output&)>;

/// One rank. Threads: one.
struct RankProcess {
  /// Forks the shim.
  /// Errors:  Error{system} if the system refuses.
  RankProcess(const Spec& spec, const RankSpec& rank, const EnvList& node_env,
              const RankSetting& setting, const RankBinding& binding);

  std::optional<ShimReport> next_report();
  void order(const ShimOrder& order) const;
  /// Called when the shim was reaped. The rest in the pipes is still read.
  void shim_ended();
  /// Returns true if the shim is stopped for good. Called every StopWatch::kPeriod.
  bool shim_stopped() { return shim != 0 && watch.stopped_twice(); }
  /// Reads once from a stream that is `ready`, and passes on all that need not wait.
  void read_stream(std::size_t index, bool ready, Clock::time_point now, OnOutput on_output);

  struct Stream {
    UniqueFd fd;
    LineBatcher batcher;
  };
  std::int32_t rank;
  ProgramSpec program;
  RankCgroup cgroup;
  pid_t pid = 0;       // of the main process, once it runs
  pid_t shim = 0;      // 0 after its end
  bool ended = false;  // the shim has reported the end of the rank
  UniqueFd control;
  StopWatch watch;
  std::array<Stream, 2> streams;
  RankInput input;
  /// The rank's end of the terminal, kept open: a rank that closes its standard output must not get
  /// a hang-up.
  UniqueFd terminal;
  UniqueFd pmi;      // the connection to its MPI library, until PmiServer takes it
  UniqueFd channel;  // the rank channel, until RankChannels takes it
};

/// Polling, reading and orders for all ranks. Threads: one.
class RankSet {
 public:
  /// Forks a shim for each rank of `spec`. `bindings` has one entry for each rank.
  /// Errors:  Error{system} if the system refuses; shims forked before stay.
  void start(const Spec& spec, const EnvList& node_env, const RankSetting& setting,
             const std::vector<RankBinding>& bindings);
  /// Sends an order to all shims, or to the shim of rank `only`.
  void order(const ShimOrder& order, int only = -1);

  /// Returns the ends of the PMI connections, once, in the order of Spec::ranks.
  std::vector<UniqueFd> take_pmi_ends();
  /// Returns the ends of the rank channels, once, of the ranks that have one.
  std::vector<RankChannels::End> take_channel_ends();

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
  /// Sets the size of terminals; the ranks get SIGWINCH.
  void resize(const Window& window);

  /// Adds descriptors to poll, and sets `until` to the next partial line that is due, if it is
  /// earlier. Partial lines do not age while output is not read.
  void add_polls(std::vector<pollfd>& polled, bool read_output, Clock::time_point& until);
  /// Reads the streams that are ready in `polled` while `may_read` allows it. The next call
  /// continues with the rank at which this one stopped.
  void read_streams(const std::vector<pollfd>& polled, Clock::time_point now,
                    FunctionRef<bool()> may_read, OnOutput on_output);

 private:
  std::vector<std::unique_ptr<RankProcess>> ranks_;
  std::size_t first_poll_ = 0;
  std::size_t ranks_polled_ = 0;
  bool blocked_ = false;          // may_read() was false at the last call
  std::uint64_t input_told_ = 0;  // sum of what feed_inputs() has returned
  std::size_t turn_of_ = 0;       // the rank that is read first
};

}  // namespace ds::launcher
