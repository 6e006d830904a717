// Looks up the values of forwarded variables.
#include "launcher/cli/forward_env.h"

#include <cstdlib>

#include "engine/base/error.h"

namespace ds::launcher {

EnvList resolve_forwards(const std::vector<EnvForward>& forwards, const EnvLookup& lookup) {
  EnvList variables;
  for (const EnvForward& forward : forwards) {
    std::optional<std::string> value = forward.value ? forward.value : lookup(forward.name);
    if (!value) {
      throw Error(ErrorKind::usage, fmt::format("-x {0}: {0} is not set here", forward.name),
                  fmt::format("write -x {}=value, or export it first", forward.name));
    }
    variables.emplace_back(forward.name, std::move(*value));
  }
  return variables;
}

std::optional<std::string> own_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace ds::launcher
