// Encodes and decodes the frames of the store, byte by byte.
#include "engine/comm/mesh/frame.h"

#include <algorithm>

#include "engine/base/error.h"

namespace ds::comm {
namespace {

constexpr std::size_t kFixed = 1 + 4 + 2;  // kind, id, key bytes

template <class Integer>
void put(std::vector<std::byte>& out, Integer value) {
  for (std::size_t i = 0; i < sizeof value; ++i)
    out.push_back(static_cast<std::byte>((value >> (8 * i)) & 0xff));
}

std::uint64_t take(std::span<const std::byte> from, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i)
    value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return value;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::vector<std::byte> encode(const Frame& frame) {
  DS_ASSERT(frame.key.size() <= kMaxKey && frame.value.size() <= kMaxValue);
  std::vector<std::byte> out;
  out.reserve(kFrameHead + kFixed + frame.key.size() + frame.value.size());
  put(out, static_cast<std::uint32_t>(kFixed + frame.key.size() + frame.value.size()));
  out.push_back(static_cast<std::byte>(frame.kind));
  put(out, frame.id);
  put(out, static_cast<std::uint16_t>(frame.key.size()));
  for (const std::string* part : {&frame.key, &frame.value}) {
    std::transform(part->begin(), part->end(), std::back_inserter(out),
                   [](char c) { return static_cast<std::byte>(c); });
  }
  return out;
}

std::optional<std::size_t> body_bytes(std::span<const std::byte> head) {
  DS_ASSERT(head.size() >= kFrameHead);
  const std::size_t length = take(head, 4);
  if (length < kFixed || length > kFixed + kMaxKey + kMaxValue) return std::nullopt;
  return length;
}

std::optional<Frame> decode_body(std::span<const std::byte> body) {
  if (body.size() < kFixed) return std::nullopt;
  const std::uint64_t kind = take(body, 1);
  const std::size_t key_bytes = take(body.subspan(5), 2);
  if (kind < static_cast<std::uint64_t>(FrameKind::introduce) ||
      kind > static_cast<std::uint64_t>(FrameKind::refused)) {
    return std::nullopt;
  }
  const std::span<const std::byte> rest = body.subspan(kFixed);
  if (key_bytes > kMaxKey || key_bytes > rest.size() || rest.size() - key_bytes > kMaxValue)
    return std::nullopt;
  return Frame{.kind = static_cast<FrameKind>(kind),
               .id = static_cast<std::uint32_t>(take(body.subspan(1), 4)),
               .key = text_of(rest.first(key_bytes)),
               .value = text_of(rest.subspan(key_bytes))};
}

std::string encode_count(std::int64_t count) {
  std::vector<std::byte> bytes;
  put(bytes, static_cast<std::uint64_t>(count));
  return text_of(bytes);
}

std::optional<std::int64_t> decode_count(const std::string& value) {
  if (value.size() != 8) return std::nullopt;
  return static_cast<std::int64_t>(take(std::as_bytes(std::span(value)), 8));
}

}  // namespace ds::comm
