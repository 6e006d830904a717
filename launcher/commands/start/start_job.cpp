// Start of a placed job: creates the routes to its hosts and runs it.
#include "launcher/commands/start/start_job.h"

#include <fmt/format.h>

#include <asio/io_context.hpp>
#include <optional>
#include <string>

#include "launcher/agent/process_settings.h"
#include "launcher/commands/pods/termination_log.h"
#include "launcher/commands/pods/termination_report.h"
#include "launcher/commands/start/job_parts.h"
#include "launcher/commands/start/job_request.h"
#include "launcher/commands/start/routes.h"
#include "launcher/dns/dns_lookup.h"

namespace ds::launcher {

namespace {

/// Warns if the name of the first node is not known yet. The ranks of a part dial it themselves and
/// wait for it.
void tell_of_master(DnsLookup& lookup, const Options& options) {
  const std::string& name = options.master.address;
  if (!options.hosts.part || options.hosts.part->nodes == 1 || name.empty()) return;
  lookup.look_up(name, [name](const DnsResult& result) {
    if (result.addresses.empty())
      say_warning(fmt::format(
          "{} cannot be resolved yet ({}); the ranks wait for it until their own timeout", name,
          result.text));
  });
}

}  // namespace

int start_job(const Options& options, PlacedJob placed, std::vector<Program> programs,
              JobEnvironment environment) {
  return run_at_terminal(options, [&](const Background* background) {
    raise_open_files();  // one descriptor per node
    asio::io_context io(1);
    std::vector<Host> hosts;
    for (const Node& node : placed.placement.nodes) hosts.push_back(node.host);
    hosts.insert(hosts.end(), placed.spares.begin(), placed.spares.end());
    const Routes routes = make_routes(io, hosts, options.reach, options.failure.node_timeout);
    JobRequest request = job_request(options, std::move(placed), std::move(programs),
                                     std::move(environment), background);
    request.routes = routes.by_host;
    request.policy.start_timeout = start_timeout(options.reach);
    const bool in_log = options.pods.k8s || options.pods.termination_log;
    std::optional<TerminationLog> log;
    if (in_log) log.emplace(options.pods.termination_log);
    std::string verdict;
    if (in_log) request.on_verdict = [&verdict](const std::string& json) { verdict = json; };
    DnsLookup lookup(io);
    tell_of_master(lookup, options);
    const int code = run_job(io, std::move(request));
    if (in_log) {
      const auto problem = log->write(termination_json(termination_report(verdict, code)));
      if (problem) say_warning(*problem);
    }
    return code;
  });
}

}  // namespace ds::launcher
