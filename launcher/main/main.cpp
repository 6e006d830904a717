// dslaunch: command line -> hosts -> placement -> job.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "launcher/cli/env_table.h"
#include "launcher/cli/forward_env.h"
#include "launcher/cli/help.h"
#include "launcher/cli/option_values.h"
#include "launcher/cli/options.h"
#include "launcher/cli/redact.h"
#include "launcher/hosts/placement.h"
#include "launcher/hosts/spares.h"
#include "launcher/main/check_config.h"
#include "launcher/main/commands.h"
#include "launcher/main/job_parts.h"
#include "launcher/main/start_job.h"
#include "launcher/routes/find_hosts.h"
#include "runner/contract.h"

namespace {

using namespace ds::launcher;

int run_main_command(int argc, char** argv) {
  const Options options = parse_args(argc, argv);
  blank_values(argc, argv);
  if (options.action == Options::Action::show_help) return print(help_text(commands()));
  if (options.action == Options::Action::show_full_help) return print(full_help_text(commands()));
  if (options.action == Options::Action::show_version) return print(version_text());
  const EnvList own = own_variables();
  const std::vector<NamedValue> given = given_variables(options.env, own, say_warning);
  JobEnvironment environment = job_environment(options.env, given, own);
  std::vector<Program> programs = programs_of(options, own);
  std::vector<Host> hosts = find_hosts(options);
  PlacedJob placed;
  placed.spares = take_spares(hosts, options.failure.spares);
  placed.placement = place_groups(hosts, placement_request(options), /*epoch=*/0);
  check_spares(placed.placement, placed.spares);
  if (options.hosts.dry_run == DryRun::table) return print(placement_table(placed.placement));
  if (options.hosts.dry_run == DryRun::json) return print(placement_json(placed.placement));
  if (options.hosts.dry_run == DryRun::env)
    return print(placement_table(placed.placement) +
                 env_table(given, environment.sent, options.env.redact));
  if (options.train) {
    const Program& program = programs.front();
    const bool here = runs_here(placed.placement.nodes.front().host, options.reach.transport);
    const int code = check_config(program.argv, program.working_directory, placed.placement, here);
    if (code != 0) return code;
  }
  return start_job(options, std::move(placed), std::move(programs), std::move(environment));
}

/// `dslaunch attahc`: a subcommand is nearer than a file that does not end in .toml.
void check_first_word(const std::string& word) {
  const bool is_name = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-_") == std::string::npos;
  if (word.starts_with('-') || !is_name) return;
  const std::string near = near_command(word);
  if (!near.empty())
    usage_error(fmt::format("there is no subcommand '{}'", word),
                fmt::format("did you mean dslaunch {}? A program stands after --: dslaunch -- {}",
                            near, word));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (const Command* command = argc > 1 ? find_command(argv[1]) : nullptr)
      return command->run(argc - 1, argv + 1);
    if (argc > 1) check_first_word(argv[1]);
    return run_main_command(argc, argv);
  } catch (const ds::Error& error) {
    std::fputs(("dslaunch: " + error.for_people() + "\n").c_str(), stderr);
    return ds::contract::exit_code(error.kind());
  } catch (const std::exception& error) {
    std::fputs(("dslaunch: bug: " + std::string(error.what()) + "\n").c_str(), stderr);
    return ds::contract::kExitBug;
  }
}
