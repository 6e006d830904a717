// What the policy of output means for each rank of a placement. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/hosts/placement.h"
#include "launcher/logs/log_policy.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// What the launcher's own standard output and standard error are.
struct Screens {
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool no_colour = false;   // NO_COLOR is set, or the terminal can do nothing
  std::uint16_t rows = 24;  // of the terminal, if there is one
  std::uint16_t columns = 80;
  std::string terminal{};  // TERM
};

struct OutputPlan {
  std::vector<std::uint8_t> shown;  // by rank: 1 stdout, 2 stderr, added up
  std::vector<std::uint8_t> sent;   // by rank: what the root wants to have
  std::vector<std::string> files;   // by rank; empty: no log files
  bool files_on_nodes = false;
  bool stamped_files = false;
  PrefixTemplate prefix;
  bool untouched = false;           // the only rank's bytes pass as they are
  bool colour[2] = {false, false};  // of stdout and stderr
  bool drop = false;                // old lines, rather than let ranks wait
  std::uint64_t spool_bytes = 0;
  StdinChoice input;
  bool pty = false;
  Window window;
  std::string terminal;    // TERM of ranks on a pty
  bool drop_here = false;  // the root has log files: it takes all, and drops what cannot be shown

  /// How this stream of this rank is shown.
  [[nodiscard]] bool shows(int rank, int stream) const {
    return (shown[static_cast<std::size_t>(rank)] & stream) != 0;
  }
};

/// Errors:  Error{usage} for a rank that the job does not have.
OutputPlan plan_output(const LogPolicy& policy, const Placement& placement,
                       const std::string& job_id, const Screens& screens);

/// By rank; empty without --log-dir.
std::vector<std::string> log_files(const LogPolicy& policy, const Placement& placement,
                                   const std::string& job_id);

/// The part of the Spec that is about output.
void plan_spec(const OutputPlan& plan, Spec& spec);

}  // namespace ds::launcher
