// build_tag(): identifies the sources and compiler of a program or plugin.
#pragma once

namespace ds {

/// Returns 32 digits. Hidden, so that the plugin and the program each have their own.
[[gnu::visibility("hidden")]] const char* build_tag();

}  // namespace ds
