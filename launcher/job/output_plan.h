// Derives the handling of each rank's output from the options. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/hosts/placement.h"
#include "launcher/logs/log_policy.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Properties of the launcher's own standard output and standard error.
struct Screens {
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool no_colour = false;   // NO_COLOR is set, or the terminal is "dumb"
  std::uint16_t rows = 24;  // of the terminal, if there is one
  std::uint16_t columns = 80;
  std::string terminal{};  // TERM
};

struct OutputPlan {
  std::vector<std::uint8_t> shown;  // by rank: 1 stdout, 2 stderr, added up
  std::vector<std::uint8_t> sent;   // by rank: streams that agents send to the root
  std::vector<std::string> files;   // by rank; empty: no log files
  bool files_on_nodes = false;
  PrefixTemplate prefix;
  bool untouched = false;           // the only rank's bytes pass unchanged
  bool colour[2] = {false, false};  // of stdout and stderr
  int live_columns = 0;             // for a line of rank 0 that is redrawn; 0: none is
  OutputSpec output;                // for the nodes
  StdinChoice input;
  std::string terminal;  // TERM of ranks on a pty
  // The root takes everything for its log files, and drops only what cannot be shown.
  bool drop_here = false;

  /// Returns whether this stream of this rank is shown.
  [[nodiscard]] bool shows(int rank, int stream) const {
    return (shown[static_cast<std::size_t>(rank)] & stream) != 0;
  }
};

/// Errors:  Error{usage} for a rank that the job does not have.
OutputPlan plan_output(const LogPolicy& policy, const Placement& placement,
                       const std::string& job_id, const Screens& screens);

/// Returns the path of each rank's log file; empty without --log-dir.
std::vector<std::string> log_files(const LogPolicy& policy, const Placement& placement,
                                   const std::string& job_id);

/// Fills the part of the Spec that is about output.
void plan_spec(const OutputPlan& plan, Spec& spec);

}  // namespace ds::launcher
