// The safetensors header: written and parsed.
#include "engine/exchange/safetensors.h"

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
          "save the model again"};
}

/// Returns the number of elements; nothing for an invalid shape.
std::optional<std::int64_t> count_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return std::nullopt;
  }
  return count;
}

/// Returns nothing for a type that no weight has here.
std::optional<SafetensorsEntry> entry_of(const std::string& name, const ordered_json& value,
                                         std::int64_t bytes) {
  const auto word = value.at("dtype").get<std::string>();
  const auto* type = std::ranges::find(kTypes, word, &std::pair<DType, std::string_view>::second);
  if (type == std::end(kTypes)) return std::nullopt;
  const auto offsets = value.at("data_offsets").get<std::vector<std::int64_t>>();
  SafetensorsEntry entry{.name = name,
                         .dtype = type->first,
                         .shape = value.at("shape").get<std::vector<std::int64_t>>()};
  const std::optional<std::int64_t> count = count_of(entry.shape);
  if (offsets.size() != 2 || !count || offsets[0] < 0 || offsets[0] > offsets[1] ||
      offsets[1] > bytes || (offsets[1] - offsets[0]) / size_of(entry.dtype) != *count ||
      (offsets[1] - offsets[0]) % size_of(entry.dtype) != 0)
    throw refuse(name + " does not match its shape, or lies outside the file");
  entry.from = offsets[0];
  entry.to = offsets[1];
  return entry;
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

std::vector<SafetensorsEntry> parse_safetensors(std::string_view header, std::int64_t bytes) {
  std::vector<SafetensorsEntry> entries;
  try {
    const ordered_json json = ordered_json::parse(header);
    if (!json.is_object()) throw refuse("its header is not a JSON object");
    for (const auto& [name, value] : json.items()) {
      if (name == "__metadata__") continue;
      const std::optional<SafetensorsEntry> entry = entry_of(name, value, bytes);
      if (entry) entries.push_back(*entry);
    }
  } catch (const nlohmann::json::exception& error) {
    throw refuse(error.what());
  }
  return entries;
}

}  // namespace ds
