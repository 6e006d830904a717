// srun processes that start the agents and run as long as the job.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ds::launcher {

struct AgentStepsSetup {
  std::vector<std::vector<std::string>> commands;
  std::string input;                            // standard input of each srun
  std::function<void(const std::string&)> say;  // lines of srun, without line ends
};

/// Threads: the io_context's. The destructor kills the remaining sruns.
class AgentSteps {
 public:
  /// Starts all commands.
  /// Errors:  Error{config} if srun cannot be run.
  AgentSteps(asio::io_context& io, AgentStepsSetup setup);
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

}  // namespace ds::launcher
