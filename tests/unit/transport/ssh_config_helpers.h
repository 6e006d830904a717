// Helpers of the ssh_config tests: a config from text and files in memory, for a fixed user.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

using Files = std::map<std::string, std::string>;

inline LocalUser me() {
  LocalUser local;
  local.name = "me";
  local.home = "/home/me";
  local.uid = 1000;
  local.host_name = "login1.example";
  local.environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "SSH_AUTH_SOCK") return "/run/agent";
    if (name == "CLUSTER") return "blue";
    return std::nullopt;
  };
  return local;
}

inline SshConfig config(const std::string& text, const Files& files = {}) {
  SshConfig::Sources sources;
  sources.read = [&files](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  };
  sources.glob = [&files](const std::string& pattern) {
    std::vector<std::string> paths;
    for (const auto& [path, content] : files)
      if (ssh_pattern_matches(pattern, path)) paths.push_back(path);
    return paths;
  };
  sources.include_base = "/home/me/.ssh";
  sources.home = "/home/me";
  SshConfig out;
  out.add(text, "config", sources);
  return out;
}

inline Host host(const std::string& name, const std::string& user = "", int port = 0) {
  Host out;
  out.name = name;
  out.user = user;
  out.port = port;
  return out;
}

inline SshSettings settings(const std::string& text, const std::string& name,
                            const Files& files = {}) {
  return config(text, files).resolve(host(name), me());
}

inline std::string message(const std::string& text, const std::string& name = "n1") {
  try {
    (void)settings(text, name);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    return error.what();
  }
  return "no error";
}

}  // namespace ds::launcher
