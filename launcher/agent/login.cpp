#include "launcher/agent/login.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

namespace ds::launcher {
namespace {

/// name:password:uid:gid:gecos:home:shell
std::array<std::string_view, 7> fields_of(std::string_view line) {
  std::array<std::string_view, 7> fields{};
  for (std::string_view& field : fields) {
    const std::size_t end = std::min(line.find(':'), line.size());
    field = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return fields;
}

}  // namespace

Login find_login(const EnvList& env, std::string_view passwd, uid_t user) {
  Login login;
  for (const auto& [name, value] : env) {
    if (name == "HOME") login.home = value;
    if (name == "SHELL") login.shell = value;
  }
  const std::string uid = std::to_string(user);
  while (!passwd.empty() && (login.home.empty() || login.shell.empty())) {
    const std::size_t end = std::min(passwd.find('\n'), passwd.size());
    const auto fields = fields_of(passwd.substr(0, end));
    passwd.remove_prefix(std::min(end + 1, passwd.size()));
    if (fields[2] != uid) continue;
    if (login.home.empty()) login.home = fields[5];
    if (login.shell.empty()) login.shell = fields[6];
    break;
  }
  if (login.home.empty()) login.home = "/";
  if (login.shell.empty()) login.shell = "/bin/sh";
  return login;
}

void resolve_login(ProgramSpec& program, const EnvList& env) {
  if (!program.at_home && !program.login_shell) return;
  std::ifstream file("/etc/passwd");
  const std::string passwd{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const Login login = find_login(env, passwd, ::getuid());
  if (program.at_home && program.cwd.empty()) program.cwd = login.home;
  if (program.login_shell) program.argv = {login.shell, "-c", program.argv.at(0)};
}

}  // namespace ds::launcher
