// DIR/latest: one line with the name of the newest complete checkpoint, for users and scripts.
#pragma once

#include <string>

namespace ds {

/// Writes the name atomically (temporary file and rename), or nothing if it is already there. An
/// empty `name` removes the file, and so does a failed write, so that no stale
/// name stays.
void point_latest(const std::string& dir, const std::string& name) noexcept;

/// Returns the name without its line end; empty if the file is missing or holds no such name.
std::string latest_name(const std::string& dir);

}  // namespace ds
