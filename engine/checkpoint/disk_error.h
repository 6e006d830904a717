// What the system refused about a checkpoint's files, in plain words.
#pragma once

#include <string>

#include "engine/base/error.h"

namespace ds {

/// Error{system}: "PATH WHAT: why (the system's words)" with a hint; `what` as in "cannot be
/// written".
Error disk_error(const std::string& path, const std::string& what, int error_number);

}  // namespace ds
