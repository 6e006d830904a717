// Home directory and login shell of this user on this node, without NSS: this program is static.
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

/// HOME and SHELL of the environment, as sshd sets them; where one is missing the user's line of
/// `passwd` (the text of /etc/passwd), else "/" and "/bin/sh". Pure.
Login find_login(const EnvList& env, std::string_view passwd, uid_t user);

/// Brings `program` into the form that exec wants: its home directory if it asks for that and names
/// no other, and its text as an argument of the login shell.
void resolve_login(ProgramSpec& program, const EnvList& env);

}  // namespace ds::launcher
