// The file of --verdict: there as a whole, or not at all.
#pragma once

#include <string>

namespace ds::launcher {

/// Before the job: removes the file that an earlier one has left at `path`. What stands there and is
/// no file stays: devices, pipes, and names of descriptors (/dev/stdout).
/// Errors:  Error{config} if no file can be made there.
void prepare_verdict_file(const std::string& path);

/// Promise: a reader finds the whole text or no file; what is no file is written as it is.
/// Errors:  Error{system}.
void write_verdict_file(const std::string& path, const std::string& text);

}  // namespace ds::launcher
