// The safetensors format: 8 bytes of length, a JSON header, dense tensors. Text only; pure.
// Source: https://github.com/huggingface/safetensors, "Format".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor/tensor.h"

namespace ds {

/// One tensor of a file: bytes [from, to) behind the header.
struct SafetensorsEntry {
  std::string name{};
  DType dtype = DType::f32;  // f32, bf16 or f16
  std::vector<std::int64_t> shape{};
  std::int64_t from = 0, to = 0;
  friend bool operator==(const SafetensorsEntry&, const SafetensorsEntry&) = default;
};

/// The beginning of a file, a multiple of 8 bytes long: what stands before the first tensor.
std::string safetensors_header(const std::vector<SafetensorsEntry>& entries);

/// Bytes of the header's length, which come first.
inline constexpr std::int64_t kSafetensorsLength = 8;
/// Longer headers are refused, as by the format.
inline constexpr std::int64_t kSafetensorsMostHeader = 100'000'000;

/// The header's bytes, of the first eight of a file.
std::int64_t safetensors_header_bytes(std::string_view first_eight);

/// `header`: the JSON behind the length; `bytes`: of what follows it. Tensors of types that no
/// weight has here are left out. Errors: Error{config}: not JSON, not of this form, a tensor
/// outside of the file or of the wrong size.
std::vector<SafetensorsEntry> parse_safetensors(std::string_view header, std::int64_t bytes);

}  // namespace ds
