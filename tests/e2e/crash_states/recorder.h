// Recorder: records what this program does to the files below one folder. Its system calls override
// those of the C library (recorder.cpp), so that the code under test is not changed.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "e2e/crash_states/file_log.h"

namespace ds::test {

/// One at a time. Watches during its lifetime.
class Recorder {
 public:
  /// `folder` is absolute, without links, and empty.
  explicit Recorder(std::string folder);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  [[nodiscard]] const FileLog& log() const;
  /// From now on the step of the newest checkpoint is in [floor, ceiling].
  void promise(std::int64_t floor, std::int64_t ceiling);
  /// Simulates a kill after `ops` operations: all later ones fail and do nothing.
  void die_after(std::size_t ops);
  void live_on();
  [[nodiscard]] bool died() const;
  /// Returns whether the files equal the state of the log, so that nothing was missed.
  [[nodiscard]] bool missed_nothing() const;
};

}  // namespace ds::test
