#include "engine/tokenizer/charsmap.h"

#include <cstring>
#include <optional>

#include "engine/base/error.h"
#include "engine/tokenizer/unicode.h"

namespace ds {
namespace {

std::optional<std::string> decoded(const std::string& base64) {
  const auto value = [](char c) -> int {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
  };
  std::string bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : base64) {
    if (c == '=') break;
    if (value(c) < 0) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(value(c));
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes.push_back(static_cast<char>(bits >> static_cast<unsigned>(held) & 0xFFU));
  }
  return bytes;
}

// A unit of darts-clone.
bool has_leaf(std::uint32_t unit) { return (unit >> 8U & 1U) != 0; }
std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7FFFFFFFU; }
std::uint32_t label_of(std::uint32_t unit) { return unit & (1U << 31U | 0xFFU); }
std::uint32_t offset_of(std::uint32_t unit) { return unit >> 10U << ((unit & 1U << 9U) >> 6U); }

}  // namespace

CharsMap::CharsMap(const std::string& base64, const std::string& place) {
  const std::optional<std::string> bytes = decoded(base64);
  std::uint32_t size = 0;
  if (bytes && bytes->size() >= sizeof size) std::memcpy(&size, bytes->data(), sizeof size);
  if (!bytes || size < 4 || size % 4 != 0 || size > bytes->size() - sizeof size)
    throw Error(ErrorKind::config, place + ": precompiled_charsmap is damaged",
                "copy the tokenizer's file again");
  units_.resize(size / 4);
  std::memcpy(units_.data(), bytes->data() + sizeof size, size);
  texts_ = bytes->substr(sizeof size + size);
}

const char* CharsMap::find(std::string_view text) const {
  std::size_t node = offset_of(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return nullptr;
    node ^= byte;
    if (node >= units_.size() || label_of(units_[node]) != byte) return nullptr;
    const std::uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size()) return nullptr;
    const std::uint32_t at = value_of(units_[node]);
    return at < texts_.size() ? texts_.c_str() + at : nullptr;
  }
  return nullptr;
}

std::string CharsMap::normalized(std::string_view text) const {
  constexpr std::size_t kLongest = 6;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = unicode::end_of_grapheme(text, at);
    const std::string_view grapheme = text.substr(at, end - at);
    at = end;
    if (const char* const whole = grapheme.size() < kLongest ? find(grapheme) : nullptr) {
      out += whole;
      continue;
    }
    for (std::size_t i = 0; i < grapheme.size();) {
      const std::string_view part = grapheme.substr(i, unicode::length_of(grapheme[i]));
      const char* const found = find(part);
      found != nullptr ? out.append(found) : out.append(part);
      i += part.size();
    }
  }
  return out;
}

}  // namespace ds
