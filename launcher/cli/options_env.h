// Options: what each rank gets.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launcher/cli/option_table.h"

namespace ds::launcher {

/// `-x NAME=value`, or `-x NAME` (no value): forward what the launcher's own environment has.
struct EnvForward {
  std::string name;
  std::optional<std::string> value;
  friend bool operator==(const EnvForward&, const EnvForward&) = default;
};

struct EnvOptions {
  std::optional<std::string> wdir;
  std::vector<EnvForward> forward;  // in the order of the command line, each name once
};

std::span<const OptionDef<EnvOptions>> env_options();
/// Those that a program behind ':' may have for itself.
std::span<const OptionDef<EnvOptions>> program_env_options();

}  // namespace ds::launcher
