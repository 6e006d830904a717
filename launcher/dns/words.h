// The lines of the resolver's files, cut into words; comments are gone. Pure.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "engine/base/function_ref.h"

namespace ds::launcher {

/// Calls `use` with the words of each line that has any. A character of `comment` ends its line.
void for_each_line(std::string_view text, std::string_view comment,
                   FunctionRef<void(std::span<const std::string_view>)> use);

}  // namespace ds::launcher
