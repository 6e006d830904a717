// What pdsh and pdcp share beside targets: numbers of options and variables, the rcmd type, and the
// list of hosts for dslaunch. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/disguise/disguise.h"
#include "launcher/disguise/pdsh_hosts.h"

namespace ds::launcher {

/// A number that an option sets, else a variable, else pdsh.
struct PdshNumber {
  std::string_view option;
  const char* variable;
  int otherwise;
  int least;
  int most;
};
inline constexpr PdshNumber kPdshConnect = {"-t", "PDSH_CONNECT_TIMEOUT", 10, 0, 24 * 3600};
inline constexpr PdshNumber kPdshTime = {"-u", "PDSH_COMMAND_TIMEOUT", 0, 0, 30 * 24 * 3600};

/// Returns the number; `given` is the value of the option, empty without it.
/// Errors:  Error{usage}, which names the program.
int pdsh_number(std::string_view program, const PdshNumber& number, const std::string& given,
                const Surroundings& around);

/// Returns the rcmd type that all targets have: their own, else that of -R (`given`), else of
/// PDSH_RCMD_TYPE, else of Debian's file, else ssh.
/// Errors:  Error{usage} for targets of different types.
std::string pdsh_rcmd(std::string_view program, const std::string& given,
                      const std::vector<PdshTarget>& targets, const Surroundings& around);

/// Returns the list for dslaunch's -w: runs of hosts with the same user.
std::string pdsh_host_list(const std::vector<PdshTarget>& targets, const std::string& port);

bool has_repeated_host(const std::vector<PdshTarget>& targets);

}  // namespace ds::launcher
