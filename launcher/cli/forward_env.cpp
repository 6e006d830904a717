// Forwarded variables: reads the files, expands -x patterns and merges the sources.
#include "launcher/cli/forward_env.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "engine/base/error.h"
#include "launcher/cli/redact.h"

namespace ds::launcher {

namespace {

constexpr const char* kDeepSpeedFile = ".deepspeed_env";

void add(std::vector<NamedValue>& all, NamedValue variable) {
  const auto known = std::find_if(
      all.begin(), all.end(), [&](const NamedValue& other) { return other.name == variable.name; });
  if (known == all.end()) {
    all.push_back(std::move(variable));
  } else {
    *known = std::move(variable);
  }
}

/// Returns the default files in reading order. DeepSpeed looks for the name in the home folder,
/// then in the current folder.
std::vector<std::string> default_files(const EnvList& own) {
  std::string name = kDeepSpeedFile;
  std::string home;
  for (const auto& [key, value] : own) {
    if (key == "DS_ENV_FILE" && !value.empty()) name = value;
    if (key == "HOME") home = value;
  }
  if (name.starts_with('/')) return {name};
  std::vector<std::string> files;
  if (!home.empty()) files.push_back(home + "/" + name);
  files.push_back("./" + name);
  return files;
}

void warn_of_secrets(const EnvFile& file, const std::string& path,
                     const std::function<void(std::string)>& warn) {
  if (!file.read_by_all) return;
  for (const NamedValue& variable : file.variables) {
    if (!looks_secret(variable.name)) continue;
    warn(fmt::format("{} sets {} and every user can read it; run: chmod go-r {}", path,
                     variable.name, path));
    return;
  }
}

}  // namespace

std::vector<NamedValue> resolve_forwards(const std::vector<EnvForward>& forwards,
                                         const EnvList& own) {
  std::vector<NamedValue> variables;
  for (const EnvForward& forward : forwards) {
    if (forward.name.ends_with('*')) {
      const std::string prefix = forward.name.substr(0, forward.name.size() - 1);
      for (const auto& [name, value] : own)
        if (name.starts_with(prefix) && is_env_name(name) && !is_reserved_variable(name) &&
            !is_device_choice(name))
          add(variables, {name, value, "-x " + forward.name});
      continue;
    }
    const auto found = std::find_if(own.begin(), own.end(), [&](const auto& variable) {
      return variable.first == forward.name;
    });
    if (!forward.value && found == own.end()) {
      throw Error(ErrorKind::usage,
                  fmt::format("-x {0}: {0} is not set in this environment", forward.name),
                  fmt::format("write -x {}=value, or export it first", forward.name));
    }
    add(variables, {forward.name, forward.value ? *forward.value : found->second, "-x"});
  }
  return variables;
}

std::vector<NamedValue> given_variables(const EnvOptions& options, const EnvList& own,
                                        const std::function<void(std::string)>& warn) {
  std::vector<NamedValue> all;
  const auto take = [&](EnvFile file, const std::string& path) {
    warn_of_secrets(file, path, warn);
    for (NamedValue& variable : file.variables) add(all, std::move(variable));
  };
  if (options.policy != EnvPolicy::none)
    for (const std::string& path : default_files(own)) take(load_default_env_file(path), path);
  for (const std::string& path : options.files) take(load_env_file(path), path);
  for (NamedValue& variable : resolve_forwards(options.forward, own)) add(all, std::move(variable));
  return all;
}

EnvList without_sources(const std::vector<NamedValue>& variables) {
  EnvList list;
  for (const NamedValue& variable : variables) list.emplace_back(variable.name, variable.value);
  return list;
}

EnvList own_variables() {
  EnvList variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::optional<std::string> own_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace ds::launcher
