// The safetensors format: 8 bytes of length, a JSON header, dense tensors. Handles only the text;
// pure. Source: https://github.com/huggingface/safetensors, "Format".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor/tensor.h"

namespace ds {

/// One tensor of a file: bytes [from, to) after the header.
struct SafetensorsEntry {
  std::string name{};
  DType dtype = DType::f32;  // f32, bf16 or f16
  std::vector<std::int64_t> shape{};
  std::int64_t from = 0, to = 0;
  friend bool operator==(const SafetensorsEntry&, const SafetensorsEntry&) = default;
};

/// Returns the beginning of a file, everything before the first tensor: a multiple of 8 bytes.
std::string safetensors_header(const std::vector<SafetensorsEntry>& entries);

/// Bytes of the header's length field, which comes first.
inline constexpr std::int64_t kSafetensorsLength = 8;
/// Longer headers are refused, as the format requires.
inline constexpr std::int64_t kSafetensorsMostHeader = 100'000'000;

/// Returns the header's length from the first 8 bytes of a file.
std::int64_t safetensors_header_bytes(std::string_view first_eight);

/// A file's header, and the byte at which its tensors begin.
struct SafetensorsParts {
  std::string_view header;
  std::int64_t data = 0;
};
/// Splits the bytes of a file, which must stay. Errors: Error{config}: it ends inside its header,
/// or does not begin with the length of one.
SafetensorsParts split_safetensors(std::span<const std::uint8_t> file);

/// Parses the JSON after the length. `bytes`: size of the data after the header. Tensors of types
/// that no weight has here are left out. Errors: Error{config}: not JSON, not of this form, a
/// tensor outside of the file or of the wrong size.
std::vector<SafetensorsEntry> parse_safetensors(std::string_view header, std::int64_t bytes);

/// A tensor of any type: bytes [from, to) after the header.
struct SafetensorsTensor {
  std::string name{}, type{};  // type: the format's word, such as "I64"
  std::vector<std::int64_t> shape{};
  std::int64_t from = 0, to = 0;
};
/// Parses the same text and returns all tensors, also those of types that no weight has. Their
/// sizes are checked where the type is one of whole bytes. Errors: as parse_safetensors().
std::vector<SafetensorsTensor> parse_safetensors_tensors(std::string_view header,
                                                         std::int64_t bytes);
/// Returns the bytes of an element of a type of the format; 0 for an unknown type.
std::int64_t safetensors_type_bytes(std::string_view type);

}  // namespace ds
