// Agent of an srun step: reads its lines, then runs an ordinary joiner.
#include "launcher/slurm/step_agent.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "launcher/agent/link.h"
#include "launcher/join/joiner.h"
#include "launcher/slurm/step_words.h"

namespace ds::launcher {
namespace {

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

/// Unsets variables of the step's tasks, because ranks inherit this environment and are not its
/// tasks.
void hide_place() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    const std::string_view name = variable.substr(0, variable.find('='));
    if (is_step_place(name)) names.emplace_back(name);
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

}  // namespace

int run_step_agent() {
  const StepJoin join = parse_join_lines(read_lines());
  const char* node = std::getenv("SLURMD_NODENAME");
  if (node == nullptr || *node == '\0')
    throw Error(ErrorKind::config, "dslaunch agent --join=stdin: SLURMD_NODENAME is not set",
                "srun sets it; only dslaunch starts this command, inside a Slurm allocation");
  bool is_over = false;
  JoinerSetup setup;
  setup.key = join.key;
  setup.job = join.job;
  setup.place = node;
  setup.roots = join.roots;
  // The first address is that of the node where srun was run, as Slurm reaches it.
  if (const char* launcher = std::getenv("SLURM_LAUNCH_NODE_IPADDR"))
    setup.roots.insert(setup.roots.begin(), {launcher, join.roots.front().port});
  setup.wait = join.wait;
  setup.silence = join.silence;
  setup.only_trouble = true;
  setup.say = [](std::string_view text) { fmt::print(stderr, "{}\n", text); };
  setup.on_over = [&](const JoinOver&) { is_over = true; };
  hide_place();
  ::setenv(kEndsWithStep, "1", 1);
  // Slurm sends user signals (--signal) to every process of a step; the ranks get them too.
  std::signal(SIGUSR1, SIG_IGN);
  std::signal(SIGUSR2, SIG_IGN);
  const int code = run_joiner(setup);
  return is_over ? 0 : code;
}

}  // namespace ds::launcher
