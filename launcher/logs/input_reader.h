// Reads standard input from a thread of its own, and limits how much of it is in transit to ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Reads as much as was allowed. The descriptor's flags stay as they are, since other processes may
/// share them.
class InputReader {
 public:
  /// Called from the reading thread. `last` is set in the last call, which may have no bytes.
  /// `error`: the errno with which reading failed, in the last call; 0: the input has ended.
  using OnInput = std::function<void(std::vector<std::byte> bytes, bool last, int error)>;

  InputReader(int fd, OnInput on_input);
  /// Does not wait for the thread, since input may never arrive.
  ~InputReader();
  InputReader(const InputReader&) = delete;
  InputReader& operator=(const InputReader&) = delete;

  /// Allows this many more bytes to be read.
  void allow(std::uint64_t bytes);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

/// Limits how much input may be in transit: the slowest agent that receives it sets the pace. Pure.
class InputWindow {
 public:
  /// Starts with these agents and nothing in transit.
  template <class Agents>
  void start(const Agents& agents) {
    under_way_.clear();
    for (const int agent : agents) under_way_[agent] = 0;
  }
  void sent(std::uint64_t bytes) {
    for (auto& [agent, waiting] : under_way_) waiting += bytes;
  }
  /// The ranks of an agent have read this many bytes.
  void taken(int agent, std::uint64_t bytes) {
    const auto known = under_way_.find(agent);
    if (known != under_way_.end()) known->second -= std::min(known->second, bytes);
  }
  /// Returns how many bytes may be sent now; 0 without any agent.
  [[nodiscard]] std::uint64_t room() const {
    if (under_way_.empty()) return 0;
    std::uint64_t most = 0;
    for (const auto& [agent, waiting] : under_way_) most = std::max(most, waiting);
    return Stdin::kWindow - std::min(most, Stdin::kWindow);
  }

 private:
  std::map<int, std::uint64_t> under_way_;  // by agent
};

}  // namespace ds::launcher
