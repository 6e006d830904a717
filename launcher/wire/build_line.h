// The line by which an agent names its build before its first frame, so that a launcher can tell
// another build of dslaunch from its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ds::launcher {

/// Returns the linker's build id of this program (40 hexadecimal digits), or an empty text where
/// the linker wrote none. Programs with the same id are the same build.
const std::string& own_build_id();

/// Returns the line of a build, with its end. Older readers take it for noise and skip it.
std::string build_line(std::string_view id);

/// Returns the id of the last such line in `text`; nothing if there is none, as of older agents.
std::optional<std::string> build_id_in(std::string_view text);

}  // namespace ds::launcher
