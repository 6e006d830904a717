// Job of pods that dial in: converts the peers into the places of a joined job.
#include "launcher/commands/start/pod_job.h"

#include <algorithm>
#include <string>

#include "engine/base/error.h"
#include "launcher/cli/forward_env.h"
#include "launcher/commands/pods/pod_words.h"
#include "launcher/commands/pods/termination_log.h"
#include "launcher/commands/pods/termination_report.h"
#include "launcher/commands/start/job_parts.h"
#include "launcher/join/join_key.h"
#include "launcher/sources/world.h"
#include "launcher/transport/ssh/ssh_files.h"

namespace ds::launcher {

JoinKey key_of_job(const PodOptions& pods) {
  const FoundJoinKey found = find_join_key(pods.key_file, local_user().home, own_variable);
  hide_join_token();
  return found.key;
}

JoinedJobSetup joined_setup(const Options& options, const Peers& peers) {
  JoinedJobSetup setup;
  setup.job = options.pods.job_id.value_or(peers.job);
  setup.places = peer_hosts(options.pods, peers);
  setup.port = root_of(options.pods, peers).port;
  setup.wait = options.pods.wait;
  setup.dial_of = [peers](const std::string& place) {
    const auto found = std::find(peers.names.begin(), peers.names.end(), place);
    return peers.dial[static_cast<std::size_t>(found - peers.names.begin())];
  };
  setup.report = [job = setup.job](const std::string& verdict, int code) {
    TerminationReport report = termination_report(verdict, code);
    report.job = job;
    return termination_json(report);
  };
  return setup;
}

int run_k8s_job(const Options& options, std::vector<Program> programs, JobEnvironment environment) {
  const Peers peers = peers_of_launcher(options.pods, this_world());
  say_line(peers.line);
  TerminationLog log(options.pods.termination_log);
  JoinedJobSetup setup = joined_setup(options, peers);
  setup.key = key_of_job(options.pods);
  setup.on_report = [&log](const std::string& report) {
    if (const auto problem = log.write(report)) say_line(*problem);
  };
  return run_joined_job(options, setup, std::move(programs), std::move(environment));
}

}  // namespace ds::launcher
