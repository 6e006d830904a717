// Records what this program does to the files below one folder: its own system calls stand before
// those of the C library (recorder.cpp), so that the code under test knows nothing of it.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "e2e/crash_states/file_log.h"

namespace ds::test {

/// One at a time. Watches from its making to its end.
class Recorder {
 public:
  /// `folder` is absolute, without links, and empty.
  explicit Recorder(std::string folder);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  [[nodiscard]] const FileLog& log() const;
  /// From now on the newest checkpoint's step lies between these.
  void promise(std::int64_t floor, std::int64_t ceiling);
  /// As if the process were killed after so many operations: all later ones fail and do nothing.
  void die_after(std::size_t ops);
  void live_on();
  [[nodiscard]] bool died() const;
  /// Whether the files are what the log says: nothing was missed.
  [[nodiscard]] bool missed_nothing() const;
};

}  // namespace ds::test
