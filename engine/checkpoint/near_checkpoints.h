// Errors for a path that is not a checkpoint: what is there, and which checkpoints are nearby.
#pragma once

#include <string>

#include "engine/base/error.h"

namespace ds {

/// Returns the error. Searches a few levels up and down and a few names of each, without opening
/// anything. `what` is the name of the path for the user, such as "checkpoint.resume".
Error no_checkpoint_error(const std::string& what, const std::string& path);

/// Returns a hint with checkpoints that can be used instead of a broken one.
std::string near_hint(const std::string& path);

}  // namespace ds
