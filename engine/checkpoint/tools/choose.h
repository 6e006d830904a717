// Which checkpoint people mean: a step's folder, or the newest complete one of a folder of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ds {

/// `path` itself when it has a manifest; else the complete checkpoints in it, newest first.
/// Errors: Error{config}: neither, or no permission; half-written ones are named.
std::vector<std::string> checkpoints_at(const std::string& path);

/// The first of them.
std::string checkpoint_at(const std::string& path);

/// The newest `count` of a folder, oldest first. Errors: as above; Error{config}: there are fewer.
std::vector<std::string> last_checkpoints(const std::string& folder, std::size_t count);

}  // namespace ds
