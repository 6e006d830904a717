// RankProcess: one rank as its agent sees it, that is a shim, its reports and the standard streams.
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "engine/base/unique_fd.h"
#include "launcher/agent/rank_binding.h"
#include "launcher/agent/rank_cgroup.h"
#include "launcher/agent/rank_pipes.h"
#include "launcher/agent/shim.h"
#include "launcher/logs/line_batcher.h"

namespace ds::launcher {

/// Settings that all ranks of an agent share.
struct RankSetting {
  pid_t agent = 0;  // the process that shims watch; 0 in a PID namespace
  ProcessRef guard{};
  CgroupPlace cgroups{};
  Cookie cookie{};
  std::uint32_t epoch = 0;
};

/// Threads: one.
class RankProcess {
 public:
  struct Stream {
    UniqueFd fd;
    LineBatcher batcher;
  };
  /// Forks the shim.
  /// Errors:  Error{system} if the system refuses.
  RankProcess(const Spec& spec, const RankSpec& rank, const EnvList& node_env,
              const RankSetting& setting, const RankBinding& binding);

  [[nodiscard]] std::int32_t rank() const { return rank_; }
  [[nodiscard]] const ProgramSpec& program() const { return program_; }
  [[nodiscard]] pid_t pid() const { return pid_; }  // of the main process, once it runs
  void set_pid(pid_t pid) { pid_ = pid; }
  [[nodiscard]] const RankCgroup& cgroup() const { return cgroup_; }
  [[nodiscard]] pid_t shim() const { return shim_; }  // 0 after its end
  [[nodiscard]] int control() const { return control_.get(); }
  [[nodiscard]] std::array<Stream, 2>& streams() { return streams_; }
  [[nodiscard]] RankInput& input() { return input_; }
  /// Sets the size of the terminal, if the rank has one.
  void resize(std::uint16_t rows, std::uint16_t columns);

  std::optional<ShimReport> next_report();
  /// Returns true if the shim has reported the end of the rank.
  [[nodiscard]] bool ended() const { return ended_; }
  void order(const ShimOrder& order);
  /// Called when the shim was reaped. The rest in the pipes is still read.
  void shim_ended() {
    shim_ = 0;
    cgroup_.remove();
    input_.close();
    terminal_.reset();
  }
  /// Returns true if the shim has ended and both streams are closed.
  [[nodiscard]] bool done() const { return shim_ == 0 && !streams_[0].fd && !streams_[1].fd; }

  /// Reads once from a stream and passes on what is ready. `now` is for the age of partial lines.
  using OnOutput = std::function<void(std::uint8_t stream, const LineBatch&, bool last)>;
  void read_stream(std::size_t index, Clock::time_point now, const OnOutput& on_output);
  /// Passes on partial lines that have waited long enough.
  void pass_partial(std::size_t index, Clock::time_point now, const OnOutput& on_output);
  /// Returns true if the shim is stopped for good. Called every StopWatch::kPeriod.
  bool shim_stopped() { return shim_ != 0 && watch_.stopped_twice(); }

 private:
  std::int32_t rank_;
  ProgramSpec program_;
  RankCgroup cgroup_;
  pid_t pid_ = 0;
  pid_t shim_ = 0;
  bool ended_ = false;
  UniqueFd control_;
  StopWatch watch_;
  std::array<Stream, 2> streams_;
  RankInput input_;
  /// The rank's end of the terminal, kept open: a rank that closes its standard output must not get
  /// a hang-up.
  UniqueFd terminal_;
};

}  // namespace ds::launcher
