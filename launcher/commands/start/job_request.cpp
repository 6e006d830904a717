// Builder of a job's request: converts the options one after the other.
#include "launcher/commands/start/job_request.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "engine/base/error.h"
#include "launcher/agent/process_settings.h"
#include "launcher/cli/forward_env.h"
#include "launcher/cli/redact.h"
#include "launcher/control/job_socket.h"
#include "launcher/disguise/mpi_library.h"
#include "launcher/job/job_facts.h"

namespace ds::launcher {

namespace {

mode_t current_umask() {
  const mode_t mask = ::umask(022);  // the umask can only be read by setting it
  ::umask(mask);
  return mask;
}

JobPolicy job_policy(const Options& options) {
  const FailureOptions& failure = options.failure;
  return {.grace = failure.grace,
          .node_timeout = failure.node_timeout,
          .timeout = failure.timeout,
          .pre_signal = failure.pre_signal,
          .exit_skew = failure.exit_skew,
          .max_restarts = failure.max_restarts,
          .forwarded_signals = failure.forward_signals};
}

/// Returns the isolation. By default only dsrunner is isolated: other programs could depend on
/// pids, mounts or setuid programs outside the namespace.
Isolate isolation(const Options& options) {
  switch (options.failure.isolate) {
    case IsolateMode::automatic:
      return options.train ? Isolate::if_free : Isolate::none;
    case IsolateMode::pid:
      return Isolate::required;
    case IsolateMode::none:
      break;
  }
  return Isolate::none;
}

/// Returns the values of given variables that --redact hides. Empty without --redact.
std::vector<std::string> secrets_of(const std::vector<std::string>& patterns, const EnvList& given,
                                    const std::vector<Program>& programs) {
  std::vector<std::string> secrets;
  if (patterns.empty()) return secrets;
  const auto add = [&](const EnvList& variables) {
    for (const auto& [name, value] : variables)
      if (is_redacted(name, patterns)) secrets.push_back(value);
  };
  add(given);
  for (const Program& program : programs) add(program.env);
  return secrets;
}

/// Refuses MPI programs: each rank would be a world of one and exit with 0.
void refuse_mpi(const std::vector<Program>& programs) {
  for (const Program& program : programs) {
    const std::filesystem::path name = program.argv.front();
    const bool is_path = name.has_parent_path();
    const std::string file = is_path ? program.working_directory / name : name;
    if (const auto library = mpi_library_of_program(file, own_variable("PATH").value_or("")))
      throw Error(ErrorKind::config,
                  fmt::format("{} is linked with {}, and dslaunch does not carry MPI messages",
                              name.string(), *library),
                  "run it with the mpirun of that library; dslaunch starts programs that meet at "
                  "MASTER_ADDR");
  }
}

}  // namespace

JobRequest job_request(const Options& options, PlacedJob placed, std::vector<Program> programs,
                       JobEnvironment environment, const Background* background) {
  if (placed.placement.world_size() > 1) refuse_mpi(programs);
  JobRequest request;
  request.placement = std::move(placed.placement);
  request.spares = std::move(placed.spares);
  request.programs = std::move(programs);
  request.trains = options.train.has_value();
  request.umask = current_umask();
  request.isolate = isolation(options);
  request.limits = limits_of_this_process();
  request.secrets = secrets_of(options.env.redact, environment.given, request.programs);
  request.environment = std::move(environment);
  request.logs = options.logs.policy;
  if (!request.logs.folder.empty())
    request.logs.folder = std::filesystem::absolute(request.logs.folder).lexically_normal();
  request.own_devices = options.hosts.devices == DeviceView::own;
  request.bind = options.hosts.bind;
  request.tell_binding = options.hosts.report_bindings;
  request.policy = job_policy(options);
  request.master = options.master;
  if (options.failure.verdict)
    request.verdict_file = std::filesystem::absolute(*options.failure.verdict);
  request.control_folders = socket_folders(own_variable, ::geteuid());
  if (background != nullptr) {
    request.job_id = background->job_id;
    request.log_file = background->log_file;
    request.out_fd = request.err_fd = background->terminal.log_fd;
    request.on_say = background->terminal.on_say;
    request.on_running = background->terminal.on_running;
  }
  return request;
}

int run_at_terminal(const Options& options, const std::function<int(const Background*)>& run) {
  if (!options.control.detach) return run(nullptr);
  const std::uint64_t job_id = random_job_id();
  const std::string id = job_id_text(job_id);
  const std::string log_file =
      std::filesystem::absolute(log_file_name(*options.control.detach, id));
  return run_detached(id, log_file, [&](const Detached& terminal) {
    const Background background{job_id, log_file, terminal};
    return run(&background);
  });
}

}  // namespace ds::launcher
