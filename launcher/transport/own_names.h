// Which hosts of a hostfile are this machine, so that they need no ssh.
#pragma once

#include <string>
#include <vector>

#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

/// What this machine is called and which addresses its interfaces have.
struct OwnNames {
  std::vector<std::string> names;      // host name, also without its domain; lower case
  std::vector<std::string> addresses;  // numeric
};
OwnNames own_names();

/// `localhost`, own names and own addresses, if neither user nor port is given: who names one of
/// these wants ssh. Other addresses of 127/8 are not this machine's interfaces and go by ssh. Pure.
bool is_own_host(const Host& host, const OwnNames& own);

}  // namespace ds::launcher
