// Numbers with units, short, for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ds {

/// "512 B", "1.5 KiB", "2.0 GiB".
std::string format_bytes(std::int64_t bytes);
/// "80G", "1.5 TiB", "512M", "4096": binary prefixes. Nothing for anything else, and for less than a
/// byte.
std::optional<std::int64_t> parse_bytes(std::string_view text);
/// "987", "10.8 k", "124.4 M", "1.6 G": thousands by decimal prefixes.
std::string format_count(double count);
/// "0.4 s", "12 s", "1:05", "2:03:04"; "?" for what is not finite or negative.
std::string format_duration(double seconds);

}  // namespace ds
