// Hand-written parts of the manual. Private to this folder.
#pragma once

#include <string_view>

namespace ds::launcher {

extern const std::string_view kManualHead;  // before the options
extern const std::string_view kManualTail;  // after the subcommands

}  // namespace ds::launcher
