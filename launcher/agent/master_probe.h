// MasterProbe: finds out which addresses of node 0 this node can reach (docs/master.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "launcher/wire/messages.h"

namespace ds::launcher {

/// Dials all addresses of a Probe at the same time.
/// Promise: never blocks; every address has a result when the limit of the Probe ends. An answer
/// that
///          arrived before counts, even if this process reads it late.
/// Threads: one.
class MasterProbe {
 public:
  static constexpr std::size_t kMostAddresses = 64;

  /// Starts a Probe and drops an earlier one.
  void start(const Probe& probe, Clock::time_point now);
  void stop();

  /// Returns a descriptor that is readable when turn() has work; -1: no Probe runs.
  [[nodiscard]] int fd() const { return events_.get(); }
  [[nodiscard]] Clock::time_point wake_at() const { return due_; }
  /// Returns the results that are new since the last call.
  std::vector<Probed::Result> turn(Clock::time_point now);
  [[nodiscard]] std::uint32_t search() const { return probe_.search; }

 private:
  struct Attempt {
    std::uint16_t index = 0;
    UniqueFd socket{};
    bool asked = false;
    bool settled = false;
    std::string heard{};
  };

  void dial(std::uint16_t index);
  void go_on(Attempt& attempt);
  void ask(Attempt& attempt);
  void hear(Attempt& attempt);
  void settle(Attempt& attempt, std::string problem);

  Probe probe_;
  UniqueFd events_;
  std::vector<Attempt> attempts_;
  std::vector<Probed::Result> results_;
  Clock::time_point due_ = Clock::time_point::max();
};

}  // namespace ds::launcher
