// Patterns of tensor names, as several settings take them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/program/program.h"

namespace ds {

/// Returns whether the name matches the pattern as in fnmatch(3); `*` matches dots too.
bool matches_name(const std::string& pattern, const std::string& name);

/// Returns the error for an entry of `key` that matches no tensor of the model. `words`: what the
/// key takes beside patterns. The hint is the nearest word or name, else the names of the model's
/// tensors, with `*` for numbers.
Error no_such_tensor(std::string_view key, const std::string& entry, const Program& model,
                     std::span<const std::string_view> words = {});

}  // namespace ds
