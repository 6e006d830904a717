// Operations that are only issued here and run elsewhere, told to what guards against hangs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ds {

/// Of one group. Threads: one at a time. Its end ends the calls.
class CallWatch {
 public:
  virtual ~CallWatch() = default;
  /// This process waits in it from now on. `number` as of Call (rank_report.h).
  virtual void begin(std::uint64_t number, std::string_view operation, std::string_view about,
                     std::uint64_t bytes) = 0;
  /// It waits no longer.
  virtual void end() = 0;
  /// The group is given up: the others need not wait for this rank.
  virtual void fail(const std::string& why) = 0;
};

}  // namespace ds
