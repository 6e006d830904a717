// CallWatch: tells the hang guard about collectives that are issued here and run elsewhere (NCCL).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ds {

/// The calls of one group. Threads: one at a time. The destructor ends the call under way.
class CallWatch {
 public:
  virtual ~CallWatch() = default;
  /// Starts a call that this process waits in. `number` is Call::number (rank_report.h).
  virtual void begin(std::uint64_t number, std::string_view operation, std::string_view about,
                     std::uint64_t bytes) = 0;
  /// Ends the call.
  virtual void end() = 0;
  /// Marks the group as failed, so that the other ranks need not wait for this one.
  virtual void fail(const std::string& why) = 0;
};

}  // namespace ds
