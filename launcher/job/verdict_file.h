// Writes the file of --verdict, as a whole or not at all.
#pragma once

#include <string>

namespace ds::launcher {

/// Removes an earlier job's file at `path`; keeps devices, pipes, descriptors (/dev/stdout).
/// Errors:  Error{config} if no file can be created there.
void prepare_verdict_file(const std::string& path);

/// Writes `text` to `path`. A reader finds the whole text or no file; devices and pipes are
/// written in place.
/// Errors:  Error{system}.
void write_verdict_file(const std::string& path, const std::string& text);

}  // namespace ds::launcher
