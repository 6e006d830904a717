// Names that may be forwarded, and those that dslaunch sets itself.
#include "launcher/cli/options_env.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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
    usage_error(fmt::format("-x needs NAME, NAME=value or 'PREFIX*', not '{}'", given.value),
                forward.name == "*" ? "to send all variables: --env all" : "see dslaunch --help");
  if (is_reserved_variable(forward.name))
    usage_error(fmt::format("-x {}: dslaunch sets this variable for every rank", forward.name),
                "leave it out");
  for (const EnvForward& other : part.forward)
    if (other.name == forward.name) usage_error(fmt::format("-x {} is given twice", forward.name));
  part.forward.push_back(std::move(forward));
}

void add_families(EnvOptions& part, const GivenOption& given) {
  for (std::size_t at = 0; at <= given.value.size();) {
    const std::size_t end = std::min(given.value.find(',', at), given.value.size());
    const std::string word = given.value.substr(at, end - at);
    if (word != "openmpi" && word != "mpich" && word != "horovod" && word != "all")
      usage_error(fmt::format("{} cannot be '{}'", given.name, word),
                  "a list of openmpi, mpich, horovod, or all");
    part.families.openmpi |= word == "openmpi" || word == "all";
    part.families.mpich |= word == "mpich" || word == "all";
    part.families.horovod |= word == "horovod" || word == "all";
    at = end + 1;
  }
}

/// So many of the following are also of a program behind ':'.
constexpr std::size_t kProgramOptions = 2;
constexpr OptionDef<EnvOptions> kEnvOptions[] = {
    {{"--wdir", "DIR", "working directory on every node (default: the current one)"},
     [](EnvOptions& part, const GivenOption& given) { part.wdir = text_value(given); }},
    {{"-x", "NAME[=value]",
      "set an environment variable; without =value the launcher's own\n"
      "value is forwarded ('PREFIX*': all that begin so); may be repeated",
      true},
     add_forward},
    {{"--env-file", "FILE",
      "variables as NAME=value, one a line (\"-\" reads standard input);\n"
      "before it ~/.deepspeed_env and ./.deepspeed_env; may be repeated",
      true},
     [](EnvOptions& part, const GivenOption& given) { part.files.push_back(text_value(given)); }},
    {{"--env", "WHAT",
      "which of your variables other nodes get without -x: allow (default:\n"
      "those that configure such jobs), all or none"},
     [](EnvOptions& part, const GivenOption& given) {
       constexpr std::array<std::string_view, 3> kNames = {"allow", "all", "none"};
       part.policy = choice_value<EnvPolicy>(given, kNames);
     }},
    {{"--mpi-env", "LIST",
      "also set the variables by which ranks know themselves under openmpi,\n"
      "mpich and horovod (default of the bare option: all)",
      false, "all"},
     add_families},
    {{"--redact", "PATTERN",
      "show the values of variables with such names, as in MY_*, and of those\n"
      "that tell of a secret to nobody: not in --dry-run=env, not in what\n"
      "ranks write; may be repeated",
      true},
     [](EnvOptions& part, const GivenOption& given) { part.redact.push_back(text_value(given)); }},
};

}  // namespace

std::span<const OptionDef<EnvOptions>> env_options() { return kEnvOptions; }

std::span<const OptionDef<EnvOptions>> program_env_options() {
  return std::span<const OptionDef<EnvOptions>>(kEnvOptions).first(kProgramOptions);
}

}  // namespace ds::launcher
