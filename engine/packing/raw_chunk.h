// RawChunk: the stretches of files of texts that become one token file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/train_config.h"

namespace ds {

/// Bytes [begin, end) of a file; of lines, those that begin there; of Parquet, row groups.
struct RawRange {
  std::string path;
  std::int64_t begin = 0, end = 0;
};

/// About 64 MiB of text: a stretch of one file, or several files.
struct RawChunk {
  std::vector<RawRange> ranges{};
  std::int64_t bytes = 0;
  std::string name{};      // for messages: "a.jsonl", or "a.jsonl from byte 67108864 on"
  std::string identity{};  // of the content: sizes, times of change, and a hash of 64 blocks
};

inline constexpr std::int64_t kChunkBytes = std::int64_t{64} << 20U;

/// Cuts files into chunks of about `chunk_bytes`, in their order; only plain files of lines and
/// files of row groups are cut within. The chunks depend on the files and the columns read alone.
/// Errors: Error{config}: a file that cannot be read, or is empty; as open_parquet().
std::vector<RawChunk> chunks_of(const std::vector<std::string>& files, const DataConfig& config,
                                std::int64_t chunk_bytes = kChunkBytes);

}  // namespace ds
