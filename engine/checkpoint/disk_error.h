// Formats errors of the system about checkpoint files in plain words.
#pragma once

#include <string>

#include "engine/base/error.h"

namespace ds {

/// Returns an Error{system} with a hint: "PATH WHAT: why (text of errno)". `what` is for example
/// "cannot be written".
Error disk_error(const std::string& path, const std::string& what, int error_number);

}  // namespace ds
