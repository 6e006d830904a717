// Agents in a Slurm allocation: the srun processes that start them and run as long as the job, and
// the agent that a step of srun runs on each node.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ds::launcher {

/// Threads: the io_context's. The destructor kills the remaining sruns.
class AgentSteps {
 public:
  /// Starts all commands. `input`: standard input of each srun. `say` gets the lines of srun,
  /// without line ends.
  /// Errors:  Error{config} if srun cannot be run.
  AgentSteps(asio::io_context& io, const std::vector<std::vector<std::string>>& commands,
             const std::string& input, const std::function<void(const std::string&)>& say);
  ~AgentSteps();
  AgentSteps(const AgentSteps&) = delete;
  AgentSteps& operator=(const AgentSteps&) = delete;

  /// Returns how the first ended srun ended, with its last message. Nothing while all run.
  [[nodiscard]] std::optional<std::string> ended() const;
  /// Returns the number of running sruns.
  [[nodiscard]] int running() const;

 private:
  struct Step;
  std::vector<std::unique_ptr<Step>> steps_;
};

/// Reads the lines of step_words.h from standard input, dials the root as node SLURMD_NODENAME, and
/// runs its agent. Returns 0 after the root reported the end: the root reports failures itself, and
/// srun complains about any other code. Errors:  Error{config} for wrong lines or a missing
/// SLURMD_NODENAME.
int run_step_agent();

}  // namespace ds::launcher
