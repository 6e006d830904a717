// RawChunk: the stretches of text files that become one token file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ds {

/// Bytes [begin, end) of a file; of lines, those that begin there.
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

/// Cuts files into chunks, in their order; only plain files of lines are cut within. The chunks
/// depend on the files alone. Errors: Error{config}: a file that cannot be read, or is empty.
std::vector<RawChunk> chunks_of(const std::vector<std::string>& files, bool has_lines);

}  // namespace ds
