// Options of the ranks' environment and working directory.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launcher/cli/forward_policy.h"
#include "launcher/cli/option_table.h"
#include "launcher/job/rank_environment.h"

namespace ds::launcher {

/// Forwarded variable: `-x NAME=value`; without a value (`-x NAME`, `-x 'PREFIX*'`) the launcher's
/// own environment has the value.
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
  std::vector<std::string> redact;  // shell patterns of names
};

std::span<const OptionDef<EnvOptions>> env_options();
/// Returns the options that a program after ':' may have for itself.
std::span<const OptionDef<EnvOptions>> program_env_options();

}  // namespace ds::launcher
