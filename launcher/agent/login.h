// Home directory and login shell of this user on this node, without NSS, which a static program
// lacks.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "launcher/wire/frame.h"

namespace ds::launcher {

struct Login {
  std::string home;
  std::string shell;
};

/// Returns HOME and SHELL of the environment, as sshd sets them. A missing one comes from the
/// user's line in `passwd` (the content of /etc/passwd), else it is "/" or "/bin/sh". Pure.
Login find_login(const EnvList& env, std::string_view passwd, uid_t user);

/// Prepares `program` for exec: sets cwd to the home directory if at_home is set and cwd is empty,
/// and argv to a call of the login shell if login_shell is set.
void resolve_login(ProgramSpec& program, const EnvList& env);

}  // namespace ds::launcher
