// Agents in a Slurm allocation: the srun processes that start them and run as long as the job, and
// the agent that a step of srun runs on each node.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/slurm/step_words.h"

namespace ds::launcher {

/// Threads: the io_context's. The destructor kills the remaining sruns.
class AgentSteps {
 public:
  /// Starts all commands. `input`: standard input of each srun. `say` gets the lines of srun,
  /// without line ends.
  /// Errors:  Error{config} if srun cannot be run.
  AgentSteps(asio::io_context& io, std::vector<StepCommand> commands, std::string input,
             std::function<void(const std::string&)> say);
  ~AgentSteps();
  AgentSteps(const AgentSteps&) = delete;
  AgentSteps& operator=(const AgentSteps&) = delete;

  /// Returns how the first ended srun ended, with its last message. Nothing while all run.
  [[nodiscard]] std::optional<std::string> ended() const;
  /// Returns the number of running sruns.
  [[nodiscard]] int running() const;
  /// Returns whether the srun of this node has ended.
  [[nodiscard]] bool has_ended(const std::string& node) const;
  /// From now on, starts an ended srun again while its node is missing: after 1 s, 2 s, up to 30 s.
  /// Lines of the second and later attempts in a row are not passed to `say`.
  void renew(std::function<bool(const std::string& node)> is_missing);

 private:
  struct Step;
  void start(Step& step);
  void look();

  asio::io_context& io_;
  std::string input_;
  std::function<void(const std::string&)> say_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::function<bool(const std::string&)> is_missing_;
  asio::steady_timer timer_;
};

/// Reads the lines of step_words.h from standard input, dials the root as node SLURMD_NODENAME, and
/// runs its agent. Returns 0 after the root reported the end: the root reports failures itself, and
/// srun complains about any other code. Errors:  Error{config} for wrong lines or a missing
/// SLURMD_NODENAME.
int run_step_agent();

/// Prepares this process, a task of a step, for running agents: their ranks must not take its
/// variables for theirs, and signals that Slurm sends to every process of the step must not end it.
void prepare_step_agent();

}  // namespace ds::launcher
