// Runs the sruns that start the agents, for as long as the job lasts.
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
  std::string input;                            // of each
  std::function<void(const std::string&)> say;  // lines of srun, without line ends
};

/// Threads: the io_context's. Destroying it kills the sruns that are left.
class AgentSteps {
 public:
  /// Starts them all.
  /// Errors:  Error{config}: srun cannot be run.
  AgentSteps(asio::io_context& io, AgentStepsSetup setup);
  ~AgentSteps();
  AgentSteps(const AgentSteps&) = delete;
  AgentSteps& operator=(const AgentSteps&) = delete;

  /// The first that has ended: how, with the last that it said. Nothing while all run.
  [[nodiscard]] std::optional<std::string> ended() const;
  /// How many run.
  [[nodiscard]] int running() const;

 private:
  struct Step;
  std::vector<std::unique_ptr<Step>> steps_;
};

}  // namespace ds::launcher
