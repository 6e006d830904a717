// Options: what each rank gets.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launcher/cli/forward_policy.h"
#include "launcher/cli/option_table.h"
#include "launcher/job/rank_families.h"

namespace ds::launcher {

/// `-x NAME=value`, or `-x NAME` and `-x 'PREFIX*'` (no value): forward what the launcher's own
/// environment has.
struct EnvForward {
  std::string name;
  std::optional<std::string> value;
  friend bool operator==(const EnvForward&, const EnvForward&) = default;
};

struct EnvOptions {
  std::optional<std::string> wdir;
  std::vector<EnvForward> forward;  // in the order of the command line, each name once
  std::vector<std::string> files;   // --env-file
  EnvPolicy policy = EnvPolicy::allow;
  RankFamilies families;
  std::vector<std::string> redact;  // patterns of names
};

std::span<const OptionDef<EnvOptions>> env_options();
/// Those that a program behind ':' may have for itself.
std::span<const OptionDef<EnvOptions>> program_env_options();

}  // namespace ds::launcher
