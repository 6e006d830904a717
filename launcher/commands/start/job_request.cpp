// Converts the options one after the other, and makes folders absolute because ranks start
// elsewhere.
#include "launcher/commands/start/job_request.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "engine/base/error.h"
#include "launcher/agent/process_settings.h"
#include "launcher/cli/env_file.h"
#include "launcher/cli/forward_env.h"
#include "launcher/commands/start/choose_mpi.h"
#include "launcher/commands/start/python_script.h"
#include "launcher/commands/start/wrapped_program.h"
#include "launcher/control/job_socket.h"
#include "launcher/disguise/mpi_library.h"
#include "launcher/job/verdict.h"
#include "launcher/sources/own_names.h"

namespace ds::launcher {

namespace fs = std::filesystem;

namespace {

std::string absolute_folder(const std::string& folder) {
  return fs::absolute(folder).lexically_normal();
}

mode_t current_umask() {
  const mode_t mask = ::umask(022);  // the umask can only be read by setting it
  ::umask(mask);
  return mask;
}

/// Returns the isolation. By default only dsrunner is isolated: other programs could depend on
/// pids, mounts or setuid programs outside the namespace.
Isolate isolation(const Options& options) {
  if (options.failure.isolate == IsolateMode::pid) return Isolate::required;
  const bool automatic = options.failure.isolate == IsolateMode::automatic;
  return automatic && options.train ? Isolate::if_free : Isolate::none;
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

/// Returns the programs and how they use MPI, as far as their files show.
std::vector<MpiProgram> mpi_programs(const std::vector<Program>& programs) {
  std::vector<MpiProgram> found;
  for (const Program& program : programs) {
    const std::vector<std::string> command = wrapped_command(program.argv);
    const fs::path name = command.front();
    const bool is_path = name.has_parent_path();
    const std::string file = is_path ? program.working_directory / name : name;
    const MpiUse use = mpi_use_of_program(file, own_variable("PATH").value_or(""),
                                          own_variable("LD_LIBRARY_PATH").value_or(""));
    found.push_back({name.string(), use.library,
                     use.is_indirect || runs_mpi4py(command, program.working_directory)});
  }
  return found;
}

}  // namespace

std::vector<std::string> train_command(const TrainForm& form) {
  const fs::path config = fs::absolute(form.config);
  const bool is_folder = fs::is_directory(config);
  if (is_folder || ::access(config.c_str(), R_OK) != 0) {
    const int error_number = is_folder ? EISDIR : errno;
    throw Error(ErrorKind::config,
                fmt::format("cannot read {}: {}", form.config,
                            std::generic_category().message(error_number)),
                "relative paths start at the current directory");
  }
  std::vector<std::string> command = {fs::path(own_path()).parent_path() / "dsrunner", config};
  command.insert(command.end(), form.overrides.begin(), form.overrides.end());
  return command;
}

JobParts job_parts(const Options& options) {
  const EnvList own = own_variables();
  JobParts parts;
  EnvOptions of_all = options.env;
  if (options.hosts.separate) of_all.forward.clear();
  parts.given = given_variables(of_all, own, say_warning);
  JobEnvironment& environment = parts.environment;
  environment.given = without_sources(parts.given);
  environment.sent = travelling(own, options.env.policy);
  if (options.env.policy == EnvPolicy::none) environment.here = login_variables(own);
  for (const auto& variable : own) environment.own_names.push_back(variable.first);
  environment.families = options.env.families;
  const std::string folder = options.env.wdir.value_or(".");
  parts.programs.push_back({.argv = options.train ? train_command(*options.train) : options.command,
                            .env = options.hosts.separate
                                       ? without_sources(resolve_forwards(options.env.forward, own))
                                       : EnvList{},
                            .working_directory = absolute_folder(folder)});
  for (const MoreProgram& more : options.more_programs)
    parts.programs.push_back({.argv = more.command,
                              .env = without_sources(resolve_forwards(more.env.forward, own)),
                              .working_directory = absolute_folder(
                                  more.env.wdir.value_or(options.hosts.separate ? "." : folder))});
  return parts;
}

void say_line(std::string_view text) {
  std::fputs(("dslaunch: " + printable(text) + "\n").c_str(), stderr);
}

void say_warning(const std::string& text) { say_line("warning: " + text); }

std::vector<Host> hosts_of(const PlacedJob& placed) {
  std::vector<Host> hosts;
  for (const Node& node : placed.placement.nodes) hosts.push_back(node.host);
  hosts.insert(hosts.end(), placed.spares.begin(), placed.spares.end());
  return hosts;
}

JobRequest job_request(const Options& options, PlacedJob placed, JobParts parts,
                       const Background* background) {
  JobRequest request;
  if (!options.train)
    request.mpi = choose_mpi(options.env.mpi, mpi_programs(parts.programs), placed.placement);
  request.placement = std::move(placed.placement);
  request.spares = std::move(placed.spares);
  request.programs = std::move(parts.programs);
  request.trains = options.train.has_value();
  request.umask = current_umask();
  request.isolate = isolation(options);
  request.limits = limits_of_this_process();
  request.secrets = secrets_of(options.env.redact, parts.environment.given, request.programs);
  request.environment = std::move(parts.environment);
  request.logs = options.logs.policy;
  if (!request.logs.folder.empty()) request.logs.folder = absolute_folder(request.logs.folder);
  request.own_devices = options.hosts.devices == DeviceView::own;
  const Binding binding = binding_for(options.hosts.map, request.placement.shown_world());
  request.bind = binding.bind;
  request.level = binding.level;
  request.bind_by_default = binding.by_default;
  request.tell_binding = options.hosts.report_bindings;
  request.policy = options.failure;
  if (request.policy.elastic) {
    request.policy.elastic->placing = *placed.elastic;
    request.policy.elastic->nodes = {placed.nodes_least, placed.nodes_most};
  }
  request.elastic_ranks = placed.elastic_ranks;
  request.widest = std::move(placed.widest);
  request.master = options.master;
  if (options.failure.verdict) request.verdict_file = fs::absolute(*options.failure.verdict);
  request.run_id = options.pods.job_id.value_or("");
  request.control_folders = socket_folders(own_variable, ::geteuid());
  if (background != nullptr) {
    request.job_id = background->job_id;
    request.log_file = background->log_file;
    request.out_fd = request.err_fd = background->log_fd;
    request.on_say = background->on_say;
    request.on_running = background->on_running;
  }
  return request;
}

void lengthen_max_wait(JobPolicy& policy, const FailureOptions& options) {
  if (policy.elastic && !options.max_wait)
    policy.elastic->max_wait = std::max(policy.elastic->max_wait, policy.start_timeout);
}

bool runs_here(const Host& host, TransportChoice transport) {
  if (transport == TransportChoice::local) return true;
  return transport == TransportChoice::automatic && is_own_host(host, own_names());
}

}  // namespace ds::launcher
