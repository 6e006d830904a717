// srun's options for agents (one per node, overlapping other steps, with all resources of the
// node), and the lines of standard input.
#include "launcher/slurm/step_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/base/whole_number.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kHead = "dslaunch-join 1";

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::config, "dslaunch agent --join=stdin: " + message,
              "only dslaunch starts this command, inside a Slurm allocation");
}

template <class Number>
Number number(std::string_view word, std::string_view value, Number low, Number high) {
  const std::optional<Number> found = whole_number<Number>(value);
  if (!found || *found < low || *found > high)
    fail(fmt::format("line '{}' must be an integer from {} to {}", word, low, high));
  return *found;
}

std::chrono::milliseconds milliseconds(std::string_view word, std::string_view value) {
  constexpr std::int64_t kMost = 7LL * 24 * 3600 * 1000;
  return std::chrono::milliseconds(number<std::int64_t>(word, value, 1, kMost));
}

RootAddress root_address(std::string_view value) {
  const std::size_t blank = value.find(' ');
  if (blank == std::string_view::npos || blank + 1 == value.size())
    fail("line 'root' must have a port and an address");
  return {.host = std::string(value.substr(blank + 1)),
          .port = number<std::uint16_t>("root", value.substr(0, blank), 1, 65535)};
}

void read_line(JoinerSetup& join, bool& has_key, std::string_view line) {
  const std::string_view word = line.substr(0, line.find(' '));
  const std::string_view value = line.substr(std::min(word.size() + 1, line.size()));
  if (word == "key") {
    const std::optional<JoinKey> key = JoinKey::from_hex(value);
    if (!key) fail("line 'key' must have 64 hexadecimal digits");
    join.key = *key;
    has_key = true;
  } else if (word == "job") {
    join.job = value;
  } else if (word == "root") {
    join.roots.push_back(root_address(value));
  } else if (word == "wait") {
    join.wait = milliseconds(word, value);
  } else if (word == "silence") {
    join.silence = milliseconds(word, value);
  } else {
    fail(fmt::format("unknown line '{}'", word.substr(0, 40)));
  }
}

StepCommand step(const Allocation& allocation, const AllocatedGroup& group,
                 std::vector<std::string> chosen, const StepTerms& terms) {
  std::vector<std::string> words = {"srun",
                                    fmt::format("--nodes={}", chosen.size()),
                                    fmt::format("--ntasks={}", chosen.size()),
                                    "--ntasks-per-node=1",
                                    "--overlap",
                                    "--mpi=none",
                                    "--cpu-bind=none",
                                    "--kill-on-bad-exit=0",
                                    "--no-kill",
                                    "--input=all"};
  if (allocation.heterogeneous) words.push_back(fmt::format("--het-group={}", group.component));
  if (chosen.size() < group.names.size())
    words.push_back(fmt::format("--nodelist={}", fmt::join(chosen, ",")));
  if (group.cpus_each) words.push_back(fmt::format("--cpus-per-task={}", *group.cpus_each));
  words.emplace_back(terms.with_environment ? "--export=ALL" : "--export=NONE");
  words.insert(words.end(), {terms.agent, "agent", "--join=stdin"});
  return {std::move(words), std::move(chosen)};
}

void check_places(const Allocation& allocation, const std::vector<Host>& places) {
  std::unordered_set<std::string_view> known;
  for (const Host& host : allocation.hosts) known.insert(host.name);
  for (const Host& place : places)
    if (!known.contains(place.name))
      throw Error(ErrorKind::config,
                  fmt::format("{} is not a node of the Slurm job {}", place.name, allocation.job),
                  "srun starts agents only on nodes of its job; use --transport ssh for others");
}

}  // namespace

std::string join_lines(const JoinerSetup& join) {
  std::string text = fmt::format("{}\nkey {}\njob {}\n", kHead, join.key.hex(), join.job);
  for (const RootAddress& root : join.roots)
    text += fmt::format("root {} {}\n", root.port, root.host);
  return text + fmt::format("wait {}\nsilence {}\nend\n", join.wait.count(), join.silence.count());
}

std::string guest_command(const RootAddress& root) {
  const bool v6 = root.host.find(':') != std::string::npos;
  return fmt::format("dslaunch agent --join --root {}:{} --key-file FILE",
                     v6 ? "[" + root.host + "]" : root.host, root.port);
}

bool join_lines_end(std::string_view text) {
  return text.starts_with("end\n") || text.find("\nend\n") != std::string_view::npos;
}

JoinerSetup parse_join_lines(std::string_view text) {
  if (take_line(text) != kHead) fail(fmt::format("standard input does not begin with '{}'", kHead));
  JoinerSetup join;
  join.wait = join.silence = std::chrono::milliseconds(0);
  bool has_key = false;
  for (std::string_view line = take_line(text); line != "end"; line = take_line(text)) {
    if (line.empty() && text.empty()) fail("standard input ends before line 'end'");
    read_line(join, has_key, line);
  }
  if (!has_key) fail("line 'key' is missing");
  if (join.job.empty()) fail("line 'job' is missing");
  if (join.roots.empty()) fail("line 'root' is missing");
  if (join.wait.count() == 0) fail("line 'wait' is missing");
  if (join.silence.count() == 0) fail("line 'silence' is missing");
  return join;
}

std::vector<StepCommand> agent_steps(const Allocation& allocation, const std::vector<Host>& places,
                                     const StepTerms& terms) {
  check_places(allocation, places);
  std::unordered_set<std::string_view> wanted;
  for (const Host& place : places) wanted.insert(place.name);
  std::vector<StepCommand> steps;
  for (const AllocatedGroup& group : allocation.groups) {
    std::vector<std::string> chosen;
    for (const std::string& name : group.names) {
      if (!wanted.contains(name)) continue;
      if (terms.by_node)
        steps.push_back(step(allocation, group, {name}, terms));
      else
        chosen.push_back(name);
    }
    if (!chosen.empty()) steps.push_back(step(allocation, group, std::move(chosen), terms));
  }
  return steps;
}

bool is_step_option(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "SLURM_NTASKS",        "SLURM_NPROCS",        "SLURM_NNODES",        "SLURM_CPU_BIND",
      "SLURM_DISTRIBUTION",  "SLURM_TRES_PER_TASK", "SLURM_HINT",          "SLURM_GPUS_PER_TASK",
      "SLURM_GPU_BIND",      "SLURM_ARBITRARY",     "SLURM_EXACT",         "SLURM_EXCLUSIVE",
      "SLURM_STDIN",         "SLURM_STDOUT",        "SLURM_STDERR",        "SLURM_LABELIO",
      "SLURM_KILL_BAD_EXIT", "SLURM_THREADS",       "SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK",
      "SLURM_EXPORT_ENV",    "SLURM_OPEN_MODE",     "SLURM_WAIT",          "SLURM_NODELIST",
      "SLURM_MPI_TYPE"};
  return std::ranges::any_of(kNames, [&](std::string_view known) {
    return name == known || (known == "SLURM_NTASKS" && name.starts_with("SLURM_NTASKS_PER_")) ||
           (known == "SLURM_CPU_BIND" && name.starts_with("SLURM_CPU_BIND_"));
  });
}

bool is_step_place(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_GTIDS",  "SLURM_TASK_PID",
      "SLURM_STEPID", "SLURM_NTASKS",  "SLURM_NPROCS", "SLURM_NNODES", "SLURM_TASKS_PER_NODE"};
  return std::ranges::find(kNames, name) != std::end(kNames) || name.starts_with("SLURM_STEP_") ||
         name.starts_with("SLURM_SRUN_") || name.starts_with("SLURM_CPU_BIND");
}

}  // namespace ds::launcher
