// Short numbers with units for messages: bytes, counts, durations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ds {

/// Formats bytes with binary prefixes: "512 B", "1.5 KiB", "2.0 GiB".
std::string format_bytes(std::int64_t bytes);
/// Parses bytes with binary prefixes: "80G", "1.5 TiB", "512M", "4096". Returns nothing for any
/// other text and for less than 1 byte.
std::optional<std::int64_t> parse_bytes(std::string_view text);
/// Formats a count with decimal prefixes: "987", "10.8 k", "124.4 M", "1.6 G".
std::string format_count(double count);
/// Formats a number of things: "1 document", "3 documents".
std::string counted(std::int64_t number, std::string_view noun);
/// Formats a duration: "0.4 s", "12 s", "1:05", "2:03:04"; "?" if not finite or negative.
std::string format_duration(double seconds);

}  // namespace ds
