// Words of the step that starts agents: srun's command line, and the lines on its standard input,
// which other users cannot see. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/join/joiner.h"
#include "launcher/slurm/allocation.h"

namespace ds::launcher {

/// Formats the settings with which an agent dials the root (key, job, roots, wait, silence) as
/// `word value` lines and the final line `end`; text after that is not read.
std::string join_lines(const JoinerSetup& join);
/// Parses these lines.
/// Errors:  Error{config} naming the wrong or missing line; the key is never shown.
JoinerSetup parse_join_lines(std::string_view text);
/// Returns whether the text contains all lines.
bool join_lines_end(std::string_view text);

/// Returns the command by which nodes of other allocations join:
/// `dslaunch agent --join --root [fd00::1]:29400 --key-file FILE`.
std::string guest_command(const RootAddress& root);

/// One srun that starts agents.
struct StepCommand {
  std::vector<std::string> words{};
  std::vector<std::string> nodes{};
};
struct StepTerms {
  std::string agent{};           // path of dslaunch on the nodes
  bool with_environment = true;  // ranks inherit the environment of srun
  bool by_node = false;          // one srun for each node, which outlives the loss of other nodes
};
/// Returns the commands that start one agent on each of `places`: one srun, or one per component of
/// a heterogeneous job. Errors:  Error{config} if a place is not in the allocation.
std::vector<StepCommand> agent_steps(const Allocation& allocation, const std::vector<Host>& places,
                                     const StepTerms& terms);

/// Returns whether srun would read this variable of the job as an option of the step.
bool is_step_option(std::string_view name);
/// Returns whether the variable describes a task of the step; it would be wrong for a rank.
bool is_step_place(std::string_view name);

}  // namespace ds::launcher
