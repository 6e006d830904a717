// Termination log: the file in which a pod leaves its result for Kubernetes.
#pragma once

#include <optional>
#include <string>

namespace ds::launcher {

/// Default path of Kubernetes' terminationMessagePath.
inline constexpr const char* kTerminationLog = "/dev/termination-log";

/// Writes the file in place: Kubernetes mounts that very file, so a rename over it is not possible.
class TerminationLog {
 public:
  /// Opens `path`, or kTerminationLog if that exists, and removes the text of an earlier run.
  /// Errors:  Error{config} if `path` is given and cannot be written.
  explicit TerminationLog(const std::optional<std::string>& path);

  /// Replaces the text. A reader finds either the whole new text or the old one. Returns the reason
  /// if writing fails.
  std::optional<std::string> write(const std::string& text);
  /// Returns whether something was written.
  [[nodiscard]] bool written() const { return size_ > 0; }

 private:
  std::string path_;  // empty: no log
  std::size_t size_ = 0;
};

}  // namespace ds::launcher
