// Reader of hostfiles from disk or from standard input.
#pragma once

#include <string>
#include <vector>

#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

/// Reads and parses the file; "-" reads standard input to its end.
/// Errors:  Error{config} if it is missing, not a file, not readable or larger than 16 MiB; errors
/// of
///          parse_hostfile.
std::vector<Host> load_hostfile(const std::string& path);

}  // namespace ds::launcher
