// Duties of a pod's entrypoint: forwarding signals and reaping orphans; the termination log, in
// which a pod leaves its result for Kubernetes, and the report in it (`kubectl describe pod`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/error.h"

namespace ds::launcher {

/// Splits the first process of a PID namespace (a pod's entrypoint) in two. Such a process has no
/// default actions for signals and becomes the parent of orphans. The program therefore continues
/// in a child; the first process forwards signals to the child, reaps orphans, and exits as the
/// child does. In any other process this does nothing and returns nothing. Call it before anything
/// else, with one thread and no signal handlers. The first process calls `in_first` after the fork,
/// so that secrets are hidden there too. Returns the exit code in the first process and nothing in
/// the child. Errors:  Error{system}.
std::optional<int> go_on_below_first_process(void (*in_first)());

/// Blocks until TERM, INT or HUP arrives and returns the signal.
int wait_for_end_signal();

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

/// Returns the report of a process that ends with an error before it has a verdict.
std::string error_report(const Error& error);

/// Calls `read`, which reads the words of an entrypoint. Its error goes to the termination log too.
template <class Read>
auto read_words(Read read) {
  try {
    return read();
  } catch (const Error& error) {
    TerminationLog(std::nullopt).write(error_report(error));
    throw;
  }
}

/// Returns one JSON object and a newline, at most kMaxTerminationReport bytes. What does not fit is
/// left out, the oldest of the last lines first. Control bytes become '?'.
std::string termination_json(const TerminationReport& report);

}  // namespace ds::launcher
