// The program that `dslaunch exec` runs for one node.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "launcher/exec/exec_run.h"
#include "launcher/exec/percent.h"

namespace ds::launcher::exec {

/// Fills the command of `request` for a node; `user` stands for %u.
inline ProgramSpec program_for(const ExecRequest& request, int node, const std::string& user) {
  const std::string& host = request.hosts[static_cast<std::size_t>(node)].name;
  ProgramSpec program;
  for (const std::string& word : request.argv)
    program.argv.push_back(request.fill_percents ? fill_percents(word, host, node, user) : word);
  program.cwd = request.folder;
  if (request.here) {
    std::error_code none;
    if (program.cwd.empty()) program.cwd = std::filesystem::current_path(none).string();
    return program;
  }
  if (request.shell) program.argv = {fmt::format("{}", fmt::join(program.argv, " "))};
  program.at_home = true;
  program.login_shell = request.shell;
  return program;
}

}  // namespace ds::launcher::exec
