// The options of `eval`, as tool_options("eval") returns them.
#pragma once

#include <span>

#include "engine/base/tool_options.h"

namespace ds {

std::span<const ToolOption> eval_options();

}  // namespace ds
