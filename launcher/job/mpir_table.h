// The ranks of a job as a table for parallel debuggers: builds it (pure), and shows it through the
// symbols of MPIR.
#pragma once

#include <string>
#include <vector>

#include "launcher/hosts/placement.h"
#include "launcher/job/mpir_symbols.h"

namespace ds::launcher {

/// The table, and the texts to which it points. It can be moved, not copied.
struct MpirTable {
  MpirTable() = default;
  MpirTable(MpirTable&&) = default;
  MpirTable& operator=(MpirTable&&) = default;
  std::vector<std::string> hosts;        // by node
  std::vector<std::string> executables;  // by group
  std::vector<MPIR_PROCDESC> ranks;      // by rank
};

/// Returns the table of ranks with these pids; `executables` are by group.
MpirTable mpir_table(const Placement& placement, std::vector<std::string> executables,
                     const std::vector<int>& pids);

/// Returns the file that a debugger opens for a program: relative paths start at `folder`; a bare
/// name stays, because only the node knows its PATH.
std::string mpir_executable(const std::string& program, const std::string& folder);

/// What debuggers see of this process's job. The symbols are global: one job at a time has them.
class MpirView {
 public:
  MpirView() = default;
  MpirView(const MpirView&) = delete;
  MpirView& operator=(const MpirView&) = delete;
  ~MpirView() { clear(); }

  /// Returns whether a debugger holds or watches this process. It may change at any time.
  static bool being_debugged() { return MPIR_being_debugged != 0; }

  /// Empties the table: its ranks have ended.
  void clear();
  /// Shows the table. announce() follows.
  void show(MpirTable table);
  /// Calls the function at which a debugger stops this process until it has attached to the ranks.
  static void announce() { MPIR_Breakpoint(); }
  /// Tells a debugger, which may stop here, why the job ends.
  void abort(std::string reason);

 private:
  MpirTable table_;
  std::string reason_;
};

}  // namespace ds::launcher
