// Which sources and compiler a program or the plugin was built from.
#pragma once

namespace ds {

/// Hidden, so that the plugin and the program each have their own. 32 digits.
[[gnu::visibility("hidden")]] const char* build_tag();

}  // namespace ds
