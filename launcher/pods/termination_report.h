// What a pod says when it ends, as Kubernetes shows it (`kubectl describe pod`). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ds::launcher {

/// Kubernetes keeps so much of a termination log.
inline constexpr std::size_t kMaxTerminationReport = 4096;

struct TerminationReport {
  int exit_code = 0;
  std::string reason{};                   // one line
  std::string job{};                      // what its nodes call it; empty: not known
  std::optional<int> rank{};              // the first that failed
  std::string node{};                     // where it ran, or the node that was lost
  std::optional<std::int64_t> step{};     // of training, the last that was shown
  std::string checkpoint{};               // of training, the newest complete one; empty: none
  std::vector<std::string> last_lines{};  // of that rank
};

/// `verdict`: as --verdict has it (docs/failure.md); any other text is the reason itself.
TerminationReport termination_report(const std::string& verdict, int code);

/// One JSON object and a newline, at most kMaxTerminationReport bytes: what does not fit is left
/// out, the oldest of the last lines first. Control bytes are shown as '?'.
std::string termination_json(const TerminationReport& report);

}  // namespace ds::launcher
