// The name of this machine.
#pragma once

#include <unistd.h>

#include <string>

namespace ds {

/// Returns what gethostname(2) gives; empty if it fails.
inline std::string own_host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace ds
