// The text of `dslaunch --help` and `--version`.
#pragma once

#include <string_view>

namespace ds::launcher {

std::string_view help_text();
std::string_view version_text();

}  // namespace ds::launcher
