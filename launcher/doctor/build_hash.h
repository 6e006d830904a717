// Which dslaunch this is, to the byte.
#pragma once

#include <string>

namespace ds::launcher::doctor {

/// The first 12 hexadecimal digits of the SHA-256 of this program's file; empty if it cannot be
/// read.
std::string own_build_hash();

}  // namespace ds::launcher::doctor
