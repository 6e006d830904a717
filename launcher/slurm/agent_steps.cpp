// srun processes: one child per step; writes its short input at once and relays its messages.
#include "launcher/slurm/agent_steps.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "engine/base/error.h"
#include "launcher/transport/child_process.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kMostLine = 4096;
/// srun's message about --cpu-bind=none on clusters without CPU binding; not shown.
constexpr std::string_view kNothing = "srun: cluster configuration lacks support for cpu binding";

/// Writes the input, which fits into the socket's buffer. If srun is gone, its exit reports that.
void write_input(int socket, const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t count = ::send(socket, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    at += static_cast<std::size_t>(count);
  }
  ::shutdown(socket, SHUT_WR);
}

}  // namespace

struct AgentSteps::Step {
  StartedChild child;
  std::function<void(const std::string&)> say;
  std::string line;  // incomplete line
  std::string last;  // last message
  std::optional<ExitStatus> status;

  void take(std::string_view text) {
    line += text;
    for (std::size_t end = line.find('\n'); end != std::string::npos; end = line.find('\n')) {
      tell(line.substr(0, end));
      line.erase(0, end + 1);
    }
    if (line.size() > kMostLine) tell(std::exchange(line, {}));
  }

  void tell(const std::string& text) {
    if (text.empty() || text == kNothing) return;
    last = text;
    say(text);
  }
};

AgentSteps::AgentSteps(asio::io_context& io, AgentStepsSetup setup) {
  for (const std::vector<std::string>& command : setup.commands) {
    auto& step = *steps_.emplace_back(std::make_unique<Step>());
    step.say = setup.say;
    step.child = start_child(io, command,
                             {.on_stderr = [&step](std::string_view text) { step.take(text); },
                              .on_exit =
                                  [&step](ExitStatus status) {
                                    step.tell(std::exchange(step.line, {}));
                                    step.status = status;
                                  }});
    if (!step.child.problem.empty())
      throw Error(ErrorKind::config, fmt::format("cannot run srun: {}", step.child.problem),
                  "use --transport ssh to start the agents without srun");
    write_input(step.child.socket.get(), setup.input);
  }
}

AgentSteps::~AgentSteps() = default;

std::optional<std::string> AgentSteps::ended() const {
  for (const auto& step : steps_) {
    if (!step->status) continue;
    const std::string how = fmt::format("srun ended: {}", step->status->describe());
    return step->last.empty() ? how : fmt::format("{}: {}", how, step->last);
  }
  return std::nullopt;
}

int AgentSteps::running() const {
  return static_cast<int>(
      std::ranges::count_if(steps_, [](const auto& step) { return !step->status; }));
}

}  // namespace ds::launcher
