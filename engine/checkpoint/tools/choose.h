// Resolves a user's path to checkpoints: a step's folder, or the newest one in a folder of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ds {

/// Returns `path` itself if it has a manifest, else the complete checkpoints in it, newest first.
/// Errors: Error{config} if it is neither or is not readable; incomplete saves are named.
std::vector<std::string> checkpoints_at(const std::string& path);

/// Returns the first of checkpoints_at().
std::string checkpoint_at(const std::string& path);

/// Returns the newest `count` of a folder, oldest first. Errors: as above; Error{config} if there
/// are fewer.
std::vector<std::string> last_checkpoints(const std::string& folder, std::size_t count);

}  // namespace ds
