// The words of the step that starts our agents: srun's command line, and the lines that go down its
// standard input, where no other user can see them. Pure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/join/join_key.h"
#include "launcher/join/joiner.h"
#include "launcher/slurm/allocation.h"

namespace ds::launcher {

/// What an agent must know to dial the root.
struct StepJoin {
  JoinKey key;
  std::string job;
  std::vector<RootAddress> roots;
  std::chrono::milliseconds wait{0};
  std::chrono::milliseconds silence{0};
};

/// `word value` a line, ended by the line `end`; what stands behind that is not read.
std::string join_lines(const StepJoin& join);
/// Errors:  Error{config} naming the line that is wrong or missing; the key is never shown.
StepJoin parse_join_lines(std::string_view text);
/// Whether all lines are there.
bool join_lines_end(std::string_view text);

/// The commands that start one agent on each of `places`: one srun, or one a component of a
/// heterogeneous job. `agent` is dslaunch on the nodes. `with_environment`: the ranks inherit that
/// of srun.
/// Errors:  Error{config}: a place is not in the allocation.
std::vector<std::vector<std::string>> agent_steps(const Allocation& allocation,
                                                  const std::vector<Host>& places,
                                                  const std::string& agent, bool with_environment);

/// A variable by which srun would take an option of the job for one of our step.
bool is_step_option(std::string_view name);
/// A variable that tells a task of our step its place: for a rank it is somebody else's.
bool is_step_place(std::string_view name);

}  // namespace ds::launcher
