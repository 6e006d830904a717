// Reads a hostfile from disk or from standard input.
#pragma once

#include <string>
#include <vector>

#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

/// Reads and parses the file; "-" reads standard input until its end.
/// Errors:  Error{config} when it is missing, not a file, not readable or larger than 16 MiB, and
/// whatever
///          parse_hostfile reports.
std::vector<Host> load_hostfile(const std::string& path);

}  // namespace ds::launcher
