// Frames of the key-value store and of the introduction on a link: pure encoding and decoding, with
// capped sizes.
//
//   u32 length of the rest | u8 kind | u32 id | u16 key bytes | key | value (little-endian)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ds::comm {

enum class FrameKind : std::uint8_t {
  introduce = 1,  // first frame of a dialer: key = "store" or "link GROUP RANK", value = job
  set = 2,        // key := value
  set_new = 3,    // key := value unless the key is set; answered with the value that is set now
  get = 4,        // answered with the value, or absent
  wait = 5,       // answered with the value once it is set
  add = 6,        // value is an i64; answered with the new total
  answer = 7,
  absent = 8,
  refused = 9  // value gives the reason, in words; the connection ends
};

struct Frame {
  FrameKind kind = FrameKind::absent;
  std::uint32_t id = 0;  // an answer carries the id of its request
  std::string key;
  std::string value;
  friend bool operator==(const Frame&, const Frame&) = default;
};

inline constexpr std::size_t kFrameHead = 4;
inline constexpr std::size_t kMaxKey = 1024;
inline constexpr std::size_t kMaxValue = 1 << 20;

/// Encodes a frame. A key or value over its cap is a bug of the caller (DS_ASSERT).
std::vector<std::byte> encode(const Frame& frame);

/// Returns the length field; nothing when no frame has that length.
std::optional<std::size_t> body_bytes(std::span<const std::byte> head);
/// Decodes the bytes after the length field. Returns nothing when they are malformed.
std::optional<Frame> decode_body(std::span<const std::byte> body);

/// Encodes an i64 as the value of a frame.
std::string encode_count(std::int64_t count);
std::optional<std::int64_t> decode_count(const std::string& value);

}  // namespace ds::comm
