// DIR/latest: one line with the name of the newest complete checkpoint, for people and scripts.
#pragma once

#include <string>

namespace ds {

/// Whole or not at all: written beside and renamed. Empty `name`: it is removed, as it is when it
/// cannot be written, so that it never names an old one. Nothing is done where it says so already.
void point_latest(const std::string& dir, const std::string& name) noexcept;

/// The name in it, without its line end; empty: there is none, or it is no such name.
std::string latest_name(const std::string& dir);

}  // namespace ds
