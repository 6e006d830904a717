// chunks_of(): sizes and fingerprints of files.
#include "engine/packing/raw_chunk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"
#include "engine/packing/byte_source.h"

namespace ds {
namespace {

constexpr std::int64_t kChunkBytes = std::int64_t{64} << 20U;

struct FileFacts {
  std::int64_t size = 0;
  std::string identity;
};

/// A change that keeps size and time of change, and that lies between the blocks, is missed.
FileFacts facts_of(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return Error(ErrorKind::config, fmt::format("data file {}: {}", path, why));
  };
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) throw refuse(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw refuse("it is not a regular file");
  if (status.st_size == 0) throw refuse("it is empty");
  constexpr std::int64_t kBlocks = 64, kBytes = 4096;
  std::array<char, kBytes> block;
  XXH64_hash_t hash = 0;
  for (std::int64_t i = 0; i < kBlocks; ++i) {
    const std::int64_t at = std::max<std::int64_t>(0, status.st_size - kBytes) / (kBlocks - 1) * i;
    const ssize_t got = ::pread(file.get(), block.data(), block.size(), at);
    if (got < 0) throw refuse(std::strerror(errno));
    hash = XXH3_64bits_withSeed(block.data(), static_cast<std::size_t>(got), hash);
  }
  return {status.st_size, fmt::format("{} {}.{:09} {:016x}", status.st_size, status.st_mtim.tv_sec,
                                      status.st_mtim.tv_nsec, hash)};
}

}  // namespace

std::vector<RawChunk> chunks_of(const std::vector<std::string>& files, bool has_lines) {
  std::vector<RawChunk> chunks;
  const auto add = [&](const RawRange& range, const std::string& identity, std::int64_t bytes) {
    if (chunks.empty() || chunks.back().bytes + bytes > kChunkBytes) chunks.emplace_back();
    RawChunk& chunk = chunks.back();
    if (chunk.ranges.empty()) {
      chunk.name = range.path;
      if (range.begin > 0) chunk.name += fmt::format(" from byte {} on", range.begin);
    } else if (chunk.ranges.size() == 1) {
      chunk.name += " and files behind it";
    }
    chunk.ranges.push_back(range);
    chunk.bytes += bytes;
    chunk.identity += fmt::format("{} [{}, {})\n", identity, range.begin, range.end);
  };
  for (const std::string& path : files) {
    const FileFacts facts = facts_of(path);
    const std::int64_t parts =
        has_lines && !is_compressed(path) ? (facts.size + kChunkBytes - 1) / kChunkBytes : 1;
    for (std::int64_t i = 0; i < parts; ++i) {
      const std::int64_t begin = i * kChunkBytes;
      const std::int64_t end = i + 1 == parts ? facts.size : begin + kChunkBytes;
      // Where compressed lines end is not known before they are read.
      const bool whole = parts == 1 && is_compressed(path);
      add({path, begin, whole ? INT64_MAX : end}, facts.identity, end - begin);
    }
  }
  return chunks;
}

}  // namespace ds
