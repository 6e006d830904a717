// The safetensors header: written and parsed.
#include "engine/safetensors/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/text_error.h"

namespace ds {
namespace {

using nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little);

constexpr std::pair<DType, std::string_view> kTypes[] = {
    {DType::f32, "F32"}, {DType::bf16, "BF16"}, {DType::f16, "F16"}};

std::string_view word_of(DType dtype) {
  const auto* found = std::ranges::find(kTypes, dtype, &std::pair<DType, std::string_view>::first);
  DS_ASSERT(found != std::end(kTypes));
  return found->second;
}

Error refuse(const std::string& what) {
  return {ErrorKind::config, "not a safetensors file: " + printable_text(what, 500),
          "write the file again"};
}

/// Returns the number of elements; nothing for an invalid shape.
std::optional<std::int64_t> count_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return std::nullopt;
  }
  return count;
}

constexpr std::pair<std::string_view, std::int64_t> kTypeBytes[] = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
    {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
    {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};

SafetensorsTensor tensor_of(const std::string& name, const ordered_json& value,
                            std::int64_t bytes) {
  SafetensorsTensor tensor{.name = name,
                           .type = value.at("dtype").get<std::string>(),
                           .shape = value.at("shape").get<std::vector<std::int64_t>>()};
  const auto offsets = value.at("data_offsets").get<std::vector<std::int64_t>>();
  const std::optional<std::int64_t> count = count_of(tensor.shape);
  const std::int64_t each = safetensors_type_bytes(tensor.type);
  if (offsets.size() != 2 || !count || offsets[0] < 0 || offsets[0] > offsets[1] ||
      offsets[1] > bytes ||
      (each > 0 &&
       ((offsets[1] - offsets[0]) / each != *count || (offsets[1] - offsets[0]) % each != 0)))
    throw refuse(name + " does not match its shape, or lies outside the file");
  tensor.from = offsets[0];
  tensor.to = offsets[1];
  return tensor;
}

}  // namespace

std::string safetensors_header(const std::vector<SafetensorsEntry>& entries) {
  ordered_json json = {{"__metadata__", {{"format", "pt"}}}};
  for (const SafetensorsEntry& entry : entries)
    json[entry.name] = {{"dtype", word_of(entry.dtype)},
                        {"shape", entry.shape},
                        {"data_offsets", {entry.from, entry.to}}};
  std::string text = json.dump();
  text.append((kSafetensorsLength - text.size() % kSafetensorsLength) % kSafetensorsLength, ' ');
  std::string header(kSafetensorsLength, '\0');
  const auto length = static_cast<std::uint64_t>(text.size());
  std::memcpy(header.data(), &length, sizeof(length));
  return header + text;
}

std::int64_t safetensors_header_bytes(std::string_view first_eight) {
  std::uint64_t length = 0;
  if (first_eight.size() != sizeof(length)) throw refuse("it is shorter than 8 bytes");
  std::memcpy(&length, first_eight.data(), sizeof(length));
  if (length > static_cast<std::uint64_t>(kSafetensorsMostHeader))
    throw refuse("its first 8 bytes are not the length of a header");
  return static_cast<std::int64_t>(length);
}

SafetensorsParts split_safetensors(std::span<const std::uint8_t> file) {
  constexpr auto kLength = static_cast<std::size_t>(kSafetensorsLength);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.size() < kLength)
    throw Error(ErrorKind::config, "is too short for a safetensors file",
                "it is incomplete; copy it again");
  const std::int64_t header = safetensors_header_bytes(text.substr(0, kLength));
  if (header > std::ssize(text) - kSafetensorsLength)
    throw Error(ErrorKind::config, "it ends inside its header", "it is incomplete; copy it again");
  return {text.substr(kLength, static_cast<std::size_t>(header)), kSafetensorsLength + header};
}

std::int64_t safetensors_type_bytes(std::string_view type) {
  const auto* const found =
      std::ranges::find(kTypeBytes, type, &std::pair<std::string_view, std::int64_t>::first);
  return found == std::end(kTypeBytes) ? 0 : found->second;
}

std::vector<SafetensorsTensor> parse_safetensors_tensors(std::string_view header,
                                                         std::int64_t bytes) {
  std::vector<SafetensorsTensor> tensors;
  try {
    const ordered_json json = ordered_json::parse(header);
    if (!json.is_object()) throw refuse("its header is not a JSON object");
    for (const auto& [name, value] : json.items())
      if (name != "__metadata__") tensors.push_back(tensor_of(name, value, bytes));
  } catch (const nlohmann::json::exception& error) {
    throw refuse(error.what());
  }
  return tensors;
}

std::vector<SafetensorsEntry> parse_safetensors(std::string_view header, std::int64_t bytes) {
  std::vector<SafetensorsEntry> entries;
  for (SafetensorsTensor& tensor : parse_safetensors_tensors(header, bytes)) {
    const auto* const type =
        std::ranges::find(kTypes, tensor.type, &std::pair<DType, std::string_view>::second);
    if (type == std::end(kTypes)) continue;
    entries.push_back({.name = std::move(tensor.name),
                       .dtype = type->first,
                       .shape = std::move(tensor.shape),
                       .from = tensor.from,
                       .to = tensor.to});
  }
  return entries;
}

}  // namespace ds
