// The lists of algorithms of ssh_config: `+`, `-`, `^` change a default. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ds::launcher {

/// `known` is the default, comma separated. `wanted` is empty (the default), a list in its place,
/// or `+list` (behind it), `^list` (before it), `-list` (without these; patterns allowed).
std::string change_algorithms(std::string_view known, std::string_view wanted);

}  // namespace ds::launcher
