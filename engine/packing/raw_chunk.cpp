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
#include <map>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"
#include "engine/packing/byte_source.h"
#include "engine/packing/parquet_rows.h"

namespace ds {
namespace {

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

/// A part of a file that is not cut.
struct Stretch {
  RawRange range;
  std::int64_t bytes = 0;  // of text
};

std::vector<Stretch> stretches_of_lines(const std::string& path, std::int64_t size,
                                        std::int64_t chunk_bytes) {
  std::vector<Stretch> stretches;
  for (std::int64_t begin = 0; begin < size; begin += chunk_bytes) {
    const std::int64_t end = std::min(begin + chunk_bytes, size);
    stretches.push_back({{path, begin, end}, end - begin});
  }
  return stretches;
}

/// Returns row groups, of which those that have rows.
std::vector<Stretch> stretches_of_rows(const std::string& path, const DataConfig& config) {
  const std::unique_ptr<ParquetFile> file = open_parquet(path, parquet_columns(config));
  std::vector<Stretch> stretches;
  std::int64_t at = 0;
  for (const ParquetFile::Group& group : file->groups()) {
    if (group.rows > 0) stretches.push_back({{path, at, at + 1}, group.bytes});
    ++at;
  }
  if (stretches.empty())
    throw Error(ErrorKind::config, fmt::format("data file {}: it has no rows", path),
                "leave it out of data.train and data.validation");
  return stretches;
}

std::vector<Stretch> stretches_of(const std::string& path, std::int64_t size,
                                  const DataConfig& config, std::int64_t chunk_bytes) {
  if (config.format == "parquet") return stretches_of_rows(path, config);
  // Where compressed lines end is not known before they are read.
  if (is_compressed(path)) return {{{path, 0, INT64_MAX}, size}};
  if (config.format != "jsonl") return {{{path, 0, size}, size}};
  return stretches_of_lines(path, size, chunk_bytes);
}

constexpr std::string_view kAndMore = " and files behind it";

/// Adds a stretch to the chunk, to its last range if it continues that.
void add_stretch(RawChunk& chunk, const Stretch& stretch, const std::string& unit) {
  const RawRange& range = stretch.range;
  chunk.bytes += stretch.bytes;
  if (!chunk.ranges.empty() && chunk.ranges.back().path == range.path &&
      chunk.ranges.back().end == range.begin) {
    chunk.ranges.back().end = range.end;
    return;
  }
  if (chunk.ranges.empty()) {
    chunk.name = range.path;
    if (range.begin > 0) chunk.name += fmt::format(" from {} {} on", unit, range.begin);
  } else if (!chunk.name.ends_with(kAndMore)) {
    chunk.name += kAndMore;
  }
  chunk.ranges.push_back(range);
}

}  // namespace

std::vector<RawChunk> chunks_of(const std::vector<std::string>& files, const DataConfig& config,
                                std::int64_t chunk_bytes) {
  std::vector<RawChunk> chunks;
  std::map<std::string, std::string> identities;
  const std::string unit = config.format == "parquet" ? "row group" : "byte";
  for (const std::string& path : files) {
    const FileFacts facts = facts_of(path);
    identities[path] = facts.identity;
    for (const Stretch& stretch : stretches_of(path, facts.size, config, chunk_bytes)) {
      if (chunks.empty() || chunks.back().bytes + stretch.bytes > chunk_bytes)
        chunks.emplace_back();
      add_stretch(chunks.back(), stretch, unit);
    }
  }
  for (RawChunk& chunk : chunks)
    for (const RawRange& range : chunk.ranges)
      chunk.identity +=
          fmt::format("{} [{}, {})\n", identities[range.path], range.begin, range.end);
  return chunks;
}

}  // namespace ds
