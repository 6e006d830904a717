// Options of the ranks' environment: table and checks of -x, --env-file, --mpi-env and others.
#include "launcher/cli/options_env.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/split.h"
#include "launcher/cli/env_file.h"
#include "launcher/cli/option_values.h"

namespace ds::launcher {

namespace {

void add_forward(EnvOptions& part, const GivenOption& given) {
  const std::size_t equals = given.value.find('=');
  EnvForward forward{given.value.substr(0, equals), std::nullopt};
  if (equals != std::string::npos) forward.value = given.value.substr(equals + 1);
  const bool is_pattern = forward.name.ends_with('*') && !forward.value;
  if (!is_env_name(is_pattern ? forward.name.substr(0, forward.name.size() - 1) : forward.name))
    usage_error(
        fmt::format("-x must be NAME, NAME=value or 'PREFIX*', not '{}'", given.value),
        forward.name == "*" ? "use --env all to forward all variables" : "see dslaunch --help");
  if (is_reserved_variable(forward.name))
    usage_error(fmt::format("-x {}: dslaunch sets this variable for every rank", forward.name),
                "remove the option");
  for (const EnvForward& other : part.forward)
    if (other.name == forward.name) usage_error(fmt::format("-x {} is given twice", forward.name));
  part.forward.push_back(std::move(forward));
}

void add_families(EnvOptions& part, const GivenOption& given) {
  for (const std::string_view word : split(given.value, ',')) {
    if (word != "openmpi" && word != "mpich" && word != "horovod" && word != "all")
      usage_error(fmt::format("{} cannot be '{}'", given.name, word),
                  "give a list of openmpi, mpich, horovod, or all");
    part.families.openmpi |= word == "openmpi" || word == "all";
    part.families.mpich |= word == "mpich" || word == "all";
    part.families.horovod |= word == "horovod" || word == "all";
  }
}

/// Number of options at the start of the table that a program after ':' may have too.
constexpr std::size_t kProgramOptions = 2;
constexpr OptionDef<EnvOptions> kEnvOptions[] = {
    {{"--wdir", "DIR", "Working directory on every node (default: the current one)"},
     [](EnvOptions& part, const GivenOption& given) { part.wdir = text_value(given); }},
    {{"-x", "NAME[=value]",
      "Set NAME in every rank's environment; without =value, forward the\n"
      "launcher's own value; 'PREFIX*' forwards all that match; repeatable",
      true},
     add_forward},
    {{"--env-file", "FILE",
      "Set variables from FILE, one NAME=value per line (\"-\": standard\n"
      "input), after ~/.deepspeed_env and ./.deepspeed_env; repeatable",
      true},
     [](EnvOptions& part, const GivenOption& given) { part.files.push_back(text_value(given)); }},
    {{"--env", "WHAT",
      "Variables that other nodes get without -x: allow (those that\n"
      "configure such jobs), all or none (default: allow)"},
     [](EnvOptions& part, const GivenOption& given) {
       constexpr std::array<std::string_view, 3> kNames = {"allow", "all", "none"};
       part.policy = choice_value<EnvPolicy>(given, kNames);
     }},
    {{"--mpi-env", "LIST",
      "Also set the rank variables of openmpi, mpich and horovod (default of\n"
      "the bare option: all)",
      false, "all"},
     add_families},
    {{"--redact", "PATTERN",
      "Hide values of matching variables (such as MY_*) and of secrets in all\n"
      "output: in --dry-run=env and in what ranks write; repeatable",
      true},
     [](EnvOptions& part, const GivenOption& given) { part.redact.push_back(text_value(given)); }},
};

}  // namespace

std::span<const OptionDef<EnvOptions>> env_options() { return kEnvOptions; }

std::span<const OptionDef<EnvOptions>> program_env_options() {
  return std::span<const OptionDef<EnvOptions>>(kEnvOptions).first(kProgramOptions);
}

}  // namespace ds::launcher
