// Base64 as ssh uses it, and the two hashes of known_hosts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ds::launcher {

std::string base64_encode(std::string_view bytes);
/// Nothing if the text is not base64.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace ds::launcher
