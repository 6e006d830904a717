// Main command: reads the command line, finds the hosts, places the ranks and starts the job.
#include <fmt/format.h>

#include <asio/io_context.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "launcher/cli/env_file.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/host_sources.h"
#include "launcher/commands/pods/entrypoint.h"
#include "launcher/commands/start/check_config.h"
#include "launcher/commands/start/find_hosts.h"
#include "launcher/commands/start/job_request.h"
#include "launcher/commands/start/routes.h"
#include "launcher/commands/start/slurm_job.h"
#include "launcher/dns/dns_lookup.h"
#include "launcher/hosts/placement.h"
#include "launcher/join/join_key.h"

namespace ds::launcher {

namespace {

void take_part(Placement& placement, const PartRequest& part) {
  if (part.nodes == 0) return cut_part(placement, part.node_rank);
  make_part(placement, part.node_rank, part.nodes, part.run_id);
}

/// Warns about --host h:22. For ssh 22 would be a port; here it is a number of slots.
void warn_of_port(const HostOptions& hosts) {
  for (const HostPick& pick : hosts.selection.picks)
    if (pick.slots && (*pick.slots == 22 || *pick.slots == 2222))
      say_warning(
          fmt::format("--host {} means {} slots; to set a port, write port={} in a hostfile",
                      pick.text, *pick.slots, *pick.slots));
}

/// Warns if the name of the first node is not known yet. The ranks of a part dial it themselves and
/// wait for it; in a pod they start when its record may be there.
void tell_of_master(DnsLookup& lookup, const Options& options) {
  const std::string& name = options.master.address;
  if (!options.hosts.part || options.hosts.part->nodes == 1 || name.empty()) return;
  std::this_thread::sleep_for(first_look(name));
  lookup.look_up(name, [name](const DnsResult& result) {
    if (result.addresses.empty())
      say_warning(fmt::format(
          "{} cannot be resolved yet ({}); the ranks wait for it until their own timeout", name,
          result.text));
  });
}

/// Runs the job, with `programs` by group, and returns dslaunch's exit code. `verdict` gets its
/// JSON.
/// Errors:  Error{config} for an invalid ssh configuration, Error{system}. Failures of nodes appear
///          in the exit code.
int start_job(const Options& options, PlacedJob placed, JobParts parts, std::string& verdict) {
  return run_at_terminal(options, [&](const Background* background) {
    asio::io_context io(1);
    const Routes routes =
        make_routes(io, hosts_of(placed), options.reach, options.failure.node_timeout);
    JobRequest request = job_request(options, std::move(placed), std::move(parts), background);
    request.routes = routes.by_host;
    request.route_to = routes.more;
    request.policy.start_timeout = start_timeout(options.reach);
    lengthen_max_wait(request.policy, options.failure);
    request.on_verdict = [&verdict](const std::string& json) { verdict = json; };
    DnsLookup lookup(io);
    tell_of_master(lookup, options);
    return run_job(io, std::move(request));
  });
}

int print_plan(const Options& options, const PlacedJob& placed, const JobParts& parts) {
  if (options.hosts.dry_run == DryRun::table) return print(placement_table(placed.placement));
  if (options.hosts.dry_run == DryRun::json) return print(placement_json(placed.placement));
  return print(placement_table(placed.placement) +
               env_table(parts.given, parts.environment.sent, options.env.redact));
}

/// Finds the hosts of a job that reaches them itself, and runs it. `verdict` gets its JSON, or the
/// reason in words why no job began.
int run_on_hosts(const Options& options, JobParts parts, std::string& verdict) {
  std::vector<Host> hosts = find_hosts(options, say_line);
  const bool runs = options.hosts.dry_run == DryRun::off;
  if (const auto allocation = runs ? allocation_by_srun(options) : std::nullopt)
    return run_slurm_job(options, *allocation, std::move(hosts), std::move(parts));
  if (runs && options.failure.nodes && opens_job(options.pods))
    usage_error("--key-file, --join-port and --job-id need a Slurm allocation, or --transport join",
                "nodes that are reached by ssh are added by: dslaunch scale JOB --add HOST");
  PlacedJob placed = place_job(options, std::move(hosts), /*epoch=*/0);
  if (options.hosts.part) take_part(placed.placement, *options.hosts.part);
  if (!runs) return print_plan(options, placed, parts);
  if (options.hosts.display_map)
    std::fputs(placement_table(placed.placement).c_str(), stderr);
  if (options.train) {
    const bool here = runs_here(placed.placement.nodes.front().host, options.reach.transport);
    ConfigCheck check = check_config(parts.programs.front(), placed, here);
    verdict = std::move(check.problem);
    if (check.code != 0) return check.code;
  }
  if (in_pod() || options.pods.k8s) await_nodes(placed.placement, options.reach, options.pods.wait);
  return start_job(options, std::move(placed), std::move(parts), verdict);
}

/// Runs the job. In a pod its result goes to the termination log, however the job ends.
int run_job_of(const Options& options) {
  const bool in_log = in_pod() || options.pods.k8s || options.pods.termination_log;
  if (!in_log || options.hosts.dry_run != DryRun::off) {
    std::string verdict;
    return run_on_hosts(options, job_parts(options), verdict);
  }
  TerminationLog log(options.pods.termination_log);
  const auto write = [&](const std::string& report) {
    if (const auto problem = log.write(report)) say_warning(*problem);
  };
  try {
    if (options.pods.k8s && options.reach.transport == TransportChoice::join)
      return run_k8s_job(options, job_parts(options), log);
    std::string verdict;
    const int code = run_on_hosts(options, job_parts(options), verdict);
    write(termination_json(termination_report(verdict, code)));
    return code;
  } catch (const Error& error) {
    write(error_report(error));
    throw;
  }
}

}  // namespace

int run_main_command(int argc, char** argv) {
  Options options = read_words([&] { return parse_args(argc, argv, slurm_time_left()); });
  blank_values(argc, argv);
  warn_of_port(options.hosts);
  if (options.action == Options::Action::show_help) return print(help_text(commands()));
  if (options.action == Options::Action::show_full_help) return print(full_help_text(commands()));
  if (options.action == Options::Action::show_version) return print(version_text());
  if (options.hosts.dry_run == DryRun::off && !options.hosts.part)
    if (const auto place = own_step_place()) return exec_step_rank(options, *place);
  if (const std::optional<int> code = go_on_below_first_process(hide_join_token)) return *code;
  open_groups(options.hosts.selection.picks);
  for (MoreProgram& program : options.more_programs) open_groups(program.hosts);
  return run_job_of(options);
}

}  // namespace ds::launcher
