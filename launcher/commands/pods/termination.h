// Termination log: the file in which a pod leaves its result for Kubernetes, and the report in it,
// as shown by `kubectl describe pod`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

/// Maximum size in bytes of a termination log in Kubernetes.
inline constexpr std::size_t kMaxTerminationReport = 4096;

struct TerminationReport {
  int exit_code = 0;
  std::string reason{};                   // one line
  std::string job{};                      // name of the job; empty: not known
  std::optional<int> rank{};              // first rank that failed
  std::string node{};                     // node of that rank, or the node that was lost
  std::optional<std::int64_t> step{};     // last step of a training that was shown
  std::string checkpoint{};               // newest complete checkpoint of a training; empty: none
  std::vector<std::string> last_lines{};  // last lines of that rank
};

/// Reads `verdict`, the JSON of --verdict (docs/failure.md). Any other text becomes the reason.
/// Pure.
TerminationReport termination_report(const std::string& verdict, int code);

/// Returns one JSON object and a newline, at most kMaxTerminationReport bytes. What does not fit is
/// left out, the oldest of the last lines first. Control bytes become '?'.
std::string termination_json(const TerminationReport& report);

}  // namespace ds::launcher
