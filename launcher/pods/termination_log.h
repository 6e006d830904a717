// The file in which a pod leaves how it went.
#pragma once

#include <optional>
#include <string>

namespace ds::launcher {

/// Where Kubernetes looks unless a manifest says otherwise.
inline constexpr const char* kTerminationLog = "/dev/termination-log";

/// Written in one piece: Kubernetes mounts that very file, so none can be renamed over it.
class TerminationLog {
 public:
  /// `wish`: the file that was named; else kTerminationLog, if that is there. What an earlier run
  /// has left in it is removed.   Errors:  Error{config}: a named one cannot be written.
  explicit TerminationLog(const std::optional<std::string>& wish);

  /// Replaces what was written before; a reader finds all of `text` or what was there before.
  /// Says why if it cannot.
  std::optional<std::string> write(const std::string& text);
  /// Something was written.
  [[nodiscard]] bool written() const { return size_ > 0; }

 private:
  std::string path_;  // empty: none
  std::size_t size_ = 0;
};

}  // namespace ds::launcher
