// The table of endings and formats.
#include "engine/packing/file_format.h"

#include <utility>

namespace ds {

std::optional<std::string_view> format_of_ending(std::string_view path) {
  constexpr std::pair<std::string_view, std::string_view> kEndings[] = {
      {".txt", "text"},   {".jsonl", "jsonl"}, {".ndjson", "jsonl"},    {".json", "jsonl"},
      {".bin", "tokens"}, {".idx", "tokens"},  {".parquet", "parquet"}, {".safetensors", "samples"}};
  for (const std::string_view packed : {".gz", ".zst"})
    if (path.ends_with(packed)) path.remove_suffix(packed.size());
  for (const auto& [ending, format] : kEndings)
    if (path.ends_with(ending)) return format;
  return std::nullopt;
}

}  // namespace ds
