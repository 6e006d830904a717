// The kernel's name for the time since this machine was started.
#pragma once

#include <fstream>
#include <string>

namespace ds {

/// Returns random(4)'s boot_id: equal in all processes of one machine, containers included, until
/// it is started again. Empty if it cannot be read.
inline std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace ds
