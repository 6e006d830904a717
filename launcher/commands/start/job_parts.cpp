// Programs and environment of a job: makes folders absolute because ranks start elsewhere.
#include "launcher/commands/start/job_parts.h"

#include <cstdio>
#include <filesystem>

#include "launcher/cli/forward_env.h"
#include "launcher/cli/train_command.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {

namespace {

std::string absolute_folder(const std::string& folder) {
  return std::filesystem::absolute(folder).lexically_normal();
}

}  // namespace

std::vector<Program> programs_of(const Options& options, const EnvList& own) {
  const std::string folder = options.env.wdir.value_or(".");
  std::vector<Program> programs;
  programs.push_back({.argv = options.train ? train_command(*options.train) : options.command,
                      .env = {},
                      .working_directory = absolute_folder(folder)});
  for (const MoreProgram& more : options.more_programs)
    programs.push_back({.argv = more.command,
                        .env = without_sources(resolve_forwards(more.env.forward, own)),
                        .working_directory = absolute_folder(more.env.wdir.value_or(folder))});
  return programs;
}

JobEnvironment job_environment(const EnvOptions& options, const std::vector<NamedValue>& given,
                               const EnvList& own) {
  JobEnvironment environment;
  environment.given = without_sources(given);
  environment.sent = travelling(own, options.policy);
  if (options.policy == EnvPolicy::none) environment.here = login_variables(own);
  for (const auto& variable : own) environment.own_names.push_back(variable.first);
  environment.families = options.families;
  return environment;
}

void say_line(std::string_view text) {
  std::fputs(("dslaunch: " + printable(text) + "\n").c_str(), stderr);
}

void say_warning(const std::string& text) { say_line("warning: " + text); }

}  // namespace ds::launcher
