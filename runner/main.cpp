// dsrunner: main program of one rank of a training job; parses arguments and handles signals.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>
#include <thread>

#include "engine/base/contract.h"
#include "engine/base/own_host_name.h"
#include "engine/base/training_facts.h"
#include "engine/plugin/choose_backend.h"
#include "engine/train/job.h"
#include "runner/average_command.h"
#include "runner/convert_command.h"
#include "runner/data_command.h"
#include "runner/eval_command.h"
#include "runner/export_command.h"
#include "runner/inspect_command.h"
#include "runner/plan_command.h"
#include "runner/rank_env.h"
#include "runner/report_command.h"
#include "runner/sample_command.h"

namespace {

constexpr auto kRendezvousTimeout = std::chrono::seconds(120);
constexpr auto kForLocalRank0 = std::chrono::seconds(2);

constexpr std::string_view kHelp =
    R"(dsrunner: one rank of a training job, started by dslaunch, torchrun, mpirun, srun or by hand.

  dsrunner [--check] train.toml [key=value ...]
  dsrunner plan | inspect | export | average | sample | eval | data | convert | report ...  see dslaunch plan --help, ...

  --check     Check configuration, data and memory; print nothing if all is well.
              --check=config: only the configuration, for a job that runs elsewhere
              --check=facts: whether this machine could join the job; print what must be equal there
  --resume auto|never|PATH, --load all|weights
              Set the keys checkpoint.resume and checkpoint.load
  --devices   Print what this machine trains on: processor, CUDA driver, GPUs, NVIDIA's libraries
              and where they were found
  --version   Print the version
  --help      Print this text

Environment: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT (none set: a job with 1 rank).
Keys of train.toml: docs/config.md.
)";

/// A subcommand that does not run a rank.
struct Tool {
  std::string_view name;
  int (*run)(const std::vector<std::string>& words);
};

constexpr Tool kTools[] = {
    {"plan",
     [](const std::vector<std::string>& words) {
       ds::run_plan(ds::parse_plan_options(words));
       return 0;
     }},
    {"inspect", ds::run_inspect},
    {"export", ds::run_export},
    {"average", ds::run_average},
    {"sample", ds::run_sample},
    {"eval", ds::run_eval},
    {"convert", ds::run_convert},
    {"data", ds::run_data},
    {"report", ds::run_report},
};

const Tool* find_tool(std::string_view name) {
  const auto* tool = std::ranges::find(kTools, name, &Tool::name);
  return tool == std::end(kTools) ? nullptr : tool;
}

std::atomic<int> stop_signal{0};

std::atomic<int> save_requests{0};

void on_save_signal(int /*signal*/) { save_requests.fetch_add(1); }

std::atomic<bool> ends_itself{false};

// Ends at once before the first step, when there is nothing to save and no error to report.
void on_stop_signal(int signal) {
  if (!ends_itself.load()) ::_exit(ds::contract::kExitSignalBase + signal);
  stop_signal.store(signal);
}

struct Arguments {
  bool check = false, check_config = false, check_facts = false, devices = false, help = false, version = false;
  std::string config;
  std::vector<std::string> overrides;
};

/// Takes `--resume X`, `--resume=X` or the same of --load at `index` as keys of [checkpoint].
bool take_checkpoint_option(int argc, char** argv, int& index,
                            std::vector<std::string>& overrides) {
  const std::string_view word = argv[index];
  for (const std::string_view name : {"resume", "load"}) {
    const std::string option = fmt::format("--{}", name);
    if (word != option && !word.starts_with(option + "=")) continue;
    if (word == option && index + 1 == argc)
      throw ds::Error(ds::ErrorKind::usage, option + " needs a value",
                      "for example: --resume auto");
    const std::string_view value =
        word == option ? std::string_view(argv[++index]) : word.substr(option.size() + 1);
    std::string quoted;
    for (const char letter : value) {
      if (letter == '"' || letter == '\\') quoted += '\\';
      quoted += letter;
    }
    overrides.push_back(fmt::format("checkpoint.{}=\"{}\"", name, quoted));
    return true;
  }
  return false;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int index = 1; index < argc; ++index) {
    const std::string word = argv[index];
    if (word == "--check") {
      arguments.check = true;
    } else if (word == "--check=config") {
      arguments.check_config = true;
    } else if (word == "--check=facts") {
      arguments.check_facts = true;
    } else if (word == "--help" || word == "-h") {
      arguments.help = true;
    } else if (word == "--devices") {
      arguments.devices = true;
    } else if (word == "--version") {
      arguments.version = true;
    } else if (take_checkpoint_option(argc, argv, index, arguments.overrides)) {
      continue;
    } else if (word.starts_with("-")) {
      throw ds::Error(ds::ErrorKind::usage, fmt::format("unknown option '{}'", word),
                      "dsrunner --help lists them");
    } else if (arguments.config.empty()) {
      arguments.config = word;
    } else {
      arguments.overrides.push_back(word);
    }
  }
  const bool only_tells = arguments.devices || arguments.help || arguments.version;
  if (arguments.config.empty() && !only_tells) {
    throw ds::Error(ds::ErrorKind::usage, "no train.toml given",
                    "dsrunner train.toml [key=value ...]");
  }
  return arguments;
}

// TERM and INT request a stop at the end of a step, which all ranks make together; USR1 requests a
// checkpoint. A second TERM or INT ends the process at once, unless a launcher enforces the end:
// Slurm and systemd often signal both launcher and ranks, so a second signal arrives during the
// save.
void install_signals(bool has_launcher) {
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART | (has_launcher ? 0 : static_cast<int>(SA_RESETHAND));
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  struct sigaction save {};
  save.sa_handler = on_save_signal;
  save.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &save, nullptr);
}

// A rank has a connection to every other one in each group, which is soon more than 1,024, the
// usual soft limit.
void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// When a stop was requested, a lost rank is not an error: earlier checkpoints are complete.
ds::TrainEnd train(const ds::JobRequest& request) {
  try {
    return ds::run_training(request);
  } catch (const ds::Error& error) {
    if (error.kind() != ds::ErrorKind::comm || stop_signal.load() == 0) throw;
    fmt::print(stderr, "dsrunner: stopped without a last checkpoint: {}\n", error.what());
    return ds::TrainEnd::stopped;
  }
}

int run(int argc, char** argv, const ds::RankEnv& env, ds::Clock::time_point started,
        bool& joined) {
  const Arguments arguments = parse(argc, argv);
  if (arguments.help) {
    fmt::print("{}", kHelp);
    return 0;
  }
  if (arguments.version) {
    fmt::print("dsrunner {}\n", DS_VERSION);
    return 0;
  }
  if (arguments.devices) {
    fmt::print("{}", ds::device_report());
    return 0;
  }
  const std::unique_ptr<ds::RankChannel> channel = ds::RankChannel::from_environment();
  const ds::JobRequest request{.config_path = arguments.config,
                               .overrides = arguments.overrides,
                               .rendezvous = env.rendezvous(kRendezvousTimeout),
                               .local_rank = env.local_rank,
                               .local_ranks = env.local_world_size,
                               .started = started,
                               .stop_signal = &stop_signal,
                               .save_requests = &save_requests,
                               .grace_s = env.grace_s,
                               .ends_itself = &ends_itself,
                               .channel = channel.get(),
                               .node = env.node.empty() ? ds::own_host_name() : env.node,
                               .least_ranks = env.least_ranks,
                               .most_ranks = env.most_ranks,
                               .joined = &joined};
  if (arguments.check_config) {
    ds::check_configuration(request);
    return 0;
  }
  if (arguments.check_facts) {
    fmt::print("{}{}\n", ds::kFactsPrefix, ds::check_joining(request));
    return 0;
  }
  if (arguments.check) {
    ds::check_training(request);
    return 0;
  }
  raise_file_limit();
  install_signals(env.grace_s.has_value());
  const ds::TrainEnd end = train(request);
  if (end == ds::TrainEnd::complete) return 0;
  if (end == ds::TrainEnd::paused) return ds::contract::kExitPaused;
  return stop_signal.load() != 0 ? 128 + stop_signal.load() : ds::contract::kExitTerminated;
}

}  // namespace

int main(int argc, char** argv) {
  const ds::Clock::time_point started = ds::Clock::now();
  std::signal(SIGXFSZ, SIG_IGN);  // a write above `ulimit -f` is an error like that of a full disk
  int local_rank = 0;
  bool joined = false;
  try {
    const Tool* const tool = argc > 1 ? find_tool(argv[1]) : nullptr;
    if (tool != nullptr) return tool->run({argv + 2, argv + argc});
    const ds::RankEnv env = ds::parse_rank_env([](const char* name) { return std::getenv(name); });
    local_rank = env.local_rank;
    return run(argc, argv, env, started, joined);
  } catch (const std::exception& caught) {
    const ds::Error error = ds::as_error(caught);
    // An error in the job's input is usually the same on all ranks of a node: local rank 0 prints
    // it, and the launcher then ends the others. If it does not, the error is of this rank alone.
    const bool common =
        !joined && (error.kind() == ds::ErrorKind::config || error.kind() == ds::ErrorKind::usage);
    if (common && local_rank != 0) std::this_thread::sleep_for(kForLocalRank0);
    std::fflush(stdout);  // what was printed before the error is seen before it
    fmt::print(stderr, "dsrunner: {}\n", error.for_people());
    return ds::contract::exit_code(error.kind());
  }
}
