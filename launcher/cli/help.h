// The text of `dslaunch --help` and `--version`.
#pragma once

#include <string>
#include <string_view>

namespace ds::launcher {

std::string help_text();
std::string_view version_text();

}  // namespace ds::launcher
