// One rank's chunk file: pieces written one after the other, with checksums, at a settable rate.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "engine/base/unique_fd.h"
#include "engine/checkpoint/manifest.h"

namespace ds {

struct ChunkWriterSpec {
  std::string path;                           // made anew; an older file of that name is replaced
  std::int64_t rate = 0;                      // bytes a second; 0: as fast as it goes
  const std::atomic<bool>* cancel = nullptr;  // set: the next write throws; may be null
  const std::atomic<bool>* hurry = nullptr;   // set: the rate no longer counts; may be null
};

/// One thread uses it. Destroyed without finish(): the file is closed and stays as it is.
/// Errors of all: Error{system} naming the file, what failed and why (disk full, quota, I/O error,
/// permission); short writes are gone on with.
class ChunkWriter {
 public:
  explicit ChunkWriter(const ChunkWriterSpec& spec);

  /// Appends at most kPieceBytes as one piece, at the next multiple of 64 bytes.
  struct Place {
    std::int64_t at = 0;
    std::uint64_t checksum = 0;
  };
  Place append(std::span<const std::byte> bytes);

  /// fsync and close, each checked. Returns the bytes of the file.
  std::int64_t finish();

 private:
  ChunkWriterSpec spec_;
  UniqueFd file_;
  std::int64_t bytes_ = 0;
};

}  // namespace ds
