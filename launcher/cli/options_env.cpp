// Names that may be forwarded, and those that dslaunch sets itself.
#include "launcher/cli/options_env.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "launcher/cli/option_values.h"
#include "runner/contract.h"

namespace ds::launcher {

namespace {

bool is_env_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

/// Variables that dslaunch computes for each rank: a forwarded value could only be wrong.
bool is_reserved(std::string_view name) {
  using namespace contract;
  constexpr std::array<std::string_view, 11> kReserved = {
      kRank,       kLocalRank,  kWorldSize, kLocalWorldSize, kNodeRank, kGroupRank,
      kMasterAddr, kMasterPort, kCrossRank, kCrossSize,      kLocalSize};
  return name.starts_with("DSLAUNCH_") ||
         std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
}

void add_forward(EnvOptions& part, const GivenOption& given) {
  const std::size_t equals = given.value.find('=');
  EnvForward forward{given.value.substr(0, equals), std::nullopt};
  if (equals != std::string::npos) forward.value = given.value.substr(equals + 1);
  if (!is_env_name(forward.name))
    usage_error(fmt::format("-x needs NAME or NAME=value, not '{}'", given.value));
  if (is_reserved(forward.name))
    usage_error(fmt::format("-x {}: dslaunch sets this variable for every rank", forward.name),
                "leave it out");
  for (const EnvForward& other : part.forward)
    if (other.name == forward.name) usage_error(fmt::format("-x {} is given twice", forward.name));
  part.forward.push_back(std::move(forward));
}

/// So many of the following are also of a program behind ':'.
constexpr std::size_t kProgramOptions = 2;
constexpr OptionDef<EnvOptions> kOptions[] = {
    {{"--wdir", "DIR", "working directory on every node (default: the current one)"},
     [](EnvOptions& part, const GivenOption& given) { part.wdir = text_value(given); }},
    {{"-x", "NAME[=value]",
      "set an environment variable; without =value the launcher's own\n"
      "value is forwarded; may be repeated",
      true},
     add_forward},
};

}  // namespace

std::span<const OptionDef<EnvOptions>> env_options() { return kOptions; }

std::span<const OptionDef<EnvOptions>> program_env_options() {
  return std::span<const OptionDef<EnvOptions>>(kOptions).first(kProgramOptions);
}

}  // namespace ds::launcher
