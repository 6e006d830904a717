// Report that a pod leaves at its end, as shown by `kubectl describe pod`. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ds::launcher {

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
TerminationReport termination_report(const std::string& verdict, int code);

/// Returns one JSON object and a newline, at most kMaxTerminationReport bytes. What does not fit is
/// left out, the oldest of the last lines first. Control bytes become '?'.
std::string termination_json(const TerminationReport& report);

}  // namespace ds::launcher
