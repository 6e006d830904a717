// Converts the description of what a node keeps to bytes and back. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/keep/choose_kept.h"

namespace ds {

/// Returns the copies that one node holds as bytes. Equal heads are written once.
std::string copies_text(const std::vector<KeptCopy>& copies);
/// Returns the copies, of node `node`. Errors: Error{comm} if the bytes are not of copies_text().
std::vector<KeptCopy> parse_copies(std::string_view text, int node);

}  // namespace ds
