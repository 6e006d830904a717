// Identity of the running dslaunch: hash of its file.
#pragma once

#include <string>

namespace ds::launcher::doctor {

/// Returns the first 12 hexadecimal digits of the SHA-256 of this program's file; empty if the file
/// cannot be read.
std::string own_build_hash();

}  // namespace ds::launcher::doctor
