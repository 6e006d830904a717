// srun: one child per step; writes its short input at once and relays its messages. The agent of a
// step reads its lines, then runs an ordinary joiner.
#include "launcher/slurm/agent_steps.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "engine/base/deadline.h"
#include "engine/base/error.h"
#include "launcher/agent/link.h"
#include "launcher/agent/process_settings.h"
#include "launcher/join/joiner.h"
#include "launcher/slurm/step_words.h"
#include "launcher/transport/child_process.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kMostLine = 4096;
constexpr std::chrono::seconds kLook{1};
constexpr std::chrono::seconds kLongestPause{30};
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

constexpr std::size_t kMostBytes = 65536;

std::string read_lines() {
  std::string text;
  std::array<char, 4096> buffer{};
  while (!join_lines_end(text) && text.size() < kMostBytes) {
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace

struct AgentSteps::Step {
  StepCommand command;
  std::function<void(const std::string&)> say;
  StartedChild child{};
  std::string line{};  // incomplete line
  std::string last{};  // last message
  std::optional<ExitStatus> status{};
  int tries = 0;  // ends since its nodes were there
  Clock::time_point again_at{};

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
    if (tries < 2) say(text);
  }

  void ended(ExitStatus how) {
    tell(std::exchange(line, {}));
    status = how;
    again_at =
        Clock::now() + std::min(kLongestPause, std::chrono::seconds(1 << std::min(tries, 5)));
    ++tries;
  }
};

AgentSteps::AgentSteps(asio::io_context& io, std::vector<StepCommand> commands, std::string input,
                       std::function<void(const std::string&)> say)
    : io_(io), input_(std::move(input)), say_(std::move(say)), timer_(io) {
  for (StepCommand& command : commands) {
    auto& step = *steps_.emplace_back(
        std::make_unique<Step>(Step{.command = std::move(command), .say = say_}));
    start(step);
    if (!step.child.problem.empty())
      throw Error(ErrorKind::config, fmt::format("cannot run srun: {}", step.child.problem),
                  "use --transport ssh to start the agents without srun");
  }
}

void AgentSteps::start(Step& step) {
  step.child = start_child(io_, step.command.words,
                           {.on_stderr = [&step](std::string_view text) { step.take(text); },
                            .on_exit = [&step](ExitStatus status) { step.ended(status); }});
  if (!step.child.problem.empty()) return;
  step.status.reset();
  write_input(step.child.socket.get(), input_);
}

void AgentSteps::renew(std::function<bool(const std::string&)> is_missing) {
  is_missing_ = std::move(is_missing);
  look();
}

void AgentSteps::look() {
  for (const auto& step : steps_) {
    if (std::ranges::none_of(step->command.nodes, is_missing_))
      step->tries = 0;
    else if (step->status && Clock::now() >= step->again_at)
      start(*step);
  }
  timer_.expires_after(kLook);
  timer_.async_wait([this](const asio::error_code& error) {
    if (!error) look();
  });
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

bool AgentSteps::has_ended(const std::string& node) const {
  return std::ranges::any_of(steps_, [&](const auto& step) {
    return step->status && std::ranges::count(step->command.nodes, node) > 0;
  });
}

void prepare_step_agent() {
  unset_variables(is_step_place);  // Ranks inherit this environment, and are not tasks of the step.
  ::setenv(kEndsWithStep, "1", 1);
  // Slurm sends user signals (--signal) to every process of a step; the ranks get them too.
  std::signal(SIGUSR1, SIG_IGN);
  std::signal(SIGUSR2, SIG_IGN);
}

int run_step_agent() {
  JoinerSetup setup = parse_join_lines(read_lines());
  const char* node = std::getenv("SLURMD_NODENAME");
  if (node == nullptr || *node == '\0')
    throw Error(ErrorKind::config, "dslaunch agent --join=stdin: SLURMD_NODENAME is not set",
                "srun sets it; only dslaunch starts this command, inside a Slurm allocation");
  bool is_over = false;
  setup.place = node;
  // The first address is that of the node where srun was run, as Slurm reaches it.
  if (const char* launcher = std::getenv("SLURM_LAUNCH_NODE_IPADDR"))
    setup.roots.insert(setup.roots.begin(), {launcher, setup.roots.front().port});
  setup.only_trouble = true;
  setup.say = [](std::string_view text) { fmt::print(stderr, "{}\n", text); };
  setup.on_over = [&](const JoinOver&) { is_over = true; };
  prepare_step_agent();
  const int code = run_joiner(setup);
  return is_over ? 0 : code;
}

}  // namespace ds::launcher
