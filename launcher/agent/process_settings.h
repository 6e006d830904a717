// Settings that the process of a rank starts with: environment, PATH, home, shell, limits.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Merges lists of variables; later lists override earlier ones.
EnvList merge_env(const std::vector<const EnvList*>& lists);
EnvList environment_of_this_process();
/// Removes the variables whose names are `chosen` from the environment of this process.
void unset_variables(bool (*chosen)(std::string_view));
/// Returns the files to try for argv[0], in order.
std::vector<std::string> exec_candidates(const std::string& program, const EnvList& env);

struct Login {
  std::string home;
  std::string shell;
};

/// Returns HOME and SHELL of the environment, as sshd sets them. A missing one comes from the
/// user's line in `passwd` (the content of /etc/passwd; a static program lacks NSS), else it is "/"
/// or "/bin/sh". Pure.
Login find_login(const EnvList& env, std::string_view passwd, uid_t user);

/// Prepares `program` for exec: sets cwd to the home directory if at_home is set and cwd is empty,
/// and argv to a call of the login shell if login_shell is set.
void resolve_login(ProgramSpec& program, const EnvList& env);

/// Returns the soft limits of this process that every node gets: nofile, nproc, memlock, stack,
/// core.
std::vector<ResourceLimit> limits_of_this_process();

/// Raises the limit of open files to the hard limit, for a launcher of many nodes or an agent of
/// many ranks. Ranks get the old limit (limits_to_set), other programs after
/// give_back_open_files().
void raise_open_files();
/// Returns how many descriptors this process may have.
std::size_t most_open_files();
void give_back_open_files();

/// Returns the soft limit for a rank where the node has `now` and the launcher sent `wanted`: at
/// most the node's hard limit, and at least the node's soft limit (the 64 KiB of locked memory of a
/// login node must not reach a node with InfiniBand). `exact`: may be lower, too. Pure.
rlim_t soft_limit(const rlimit& now, std::uint64_t wanted, bool exact);

struct LimitToSet {
  int resource = 0;
  rlimit value{};
};
/// Returns the limits that a rank must set after its fork from this process. Unknown names are
/// skipped.
std::vector<LimitToSet> limits_to_set(const std::vector<ResourceLimit>& wanted);

}  // namespace ds::launcher
