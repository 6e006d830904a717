// Help for a path that is no checkpoint: what is there, and which checkpoints are near.
#pragma once

#include <string>

#include "engine/base/error.h"

namespace ds {

/// Looks a few levels up and down, and at a few names of each. Nothing is opened. `what`: how the
/// path is named to people, as "checkpoint.resume".
Error no_checkpoint_error(const std::string& what, const std::string& path);

/// What else may be named in place of a checkpoint that is broken.
std::string near_hint(const std::string& path);

}  // namespace ds
