// Files in memory with tiles that can be frozen, for tests of VersionedFiles.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/base/error.h"
#include "engine/storage/versioned_files.h"
#include "unit/storage/tile_helpers.h"

namespace ds::test {

using Tile = VersionedFiles::Tile;
inline constexpr std::int64_t kPage = kTileAlignment;

/// Files in memory that detect a byte in two transfers at once of which one is a write.
class MemoryFiles final : public TileFiles {
 public:
  struct Disk {
    std::vector<std::byte> bytes;
    std::atomic<bool> beside_fails{false};
    std::atomic<int> clashes{0};
  };
  explicit MemoryFiles(Disk& disk) : disk_(disk) {}

  void read(std::int64_t offset, std::span<std::byte> into) override {
    const Move move(*this, offset, std::ssize(into), false);
    std::memcpy(into.data(), disk_.bytes.data() + offset, into.size());
  }
  void write(std::int64_t offset, std::span<const std::byte> from) override {
    const Move move(*this, offset, std::ssize(from), true);
    std::memcpy(disk_.bytes.data() + offset, from.data(), from.size());
  }
  void read_beside(std::int64_t offset, std::span<std::byte> into) override {
    if (disk_.beside_fails) throw Error(ErrorKind::system, "the third lane fails");
    read(offset, into);
  }
  void register_memory(std::span<std::byte>) override {}
  [[nodiscard]] const std::string& description() const override { return description_; }
  DiskRates probe() override { return {.read = 1, .write = 2}; }

 private:
  struct Range {
    std::int64_t begin = 0, end = 0;
    bool writes = false;
  };
  class Move {
   public:
    Move(MemoryFiles& files, std::int64_t offset, std::int64_t bytes, bool writes) : files_(files) {
      const std::scoped_lock lock(files_.mutex_);
      DS_ASSERT(offset + bytes <= std::ssize(files_.disk_.bytes));
      for (const Range& other : files_.moving_) {
        const bool meets = offset < other.end && other.begin < offset + bytes;
        if (meets && (writes || other.writes)) ++files_.disk_.clashes;
      }
      at_ = files_.moving_.insert(files_.moving_.end(), {offset, offset + bytes, writes});
    }
    Move(const Move&) = delete;
    Move& operator=(const Move&) = delete;
    ~Move() {
      const std::scoped_lock lock(files_.mutex_);
      files_.moving_.erase(at_);
    }

   private:
    MemoryFiles& files_;
    std::list<Range>::iterator at_;
  };

  Disk& disk_;
  std::string description_ = "memory";
  std::mutex mutex_;
  std::list<Range> moving_;
};

struct Rig {
  MemoryFiles::Disk disk;
  VersionedFiles::Slots slots;
  std::unique_ptr<VersionedFiles> files;

  /// Makes tiles of these many pages, each with a page of other data before it; `spares` likewise.
  explicit Rig(const std::vector<int>& tiles, const std::vector<int>& spares,
               std::chrono::milliseconds patience = std::chrono::minutes(1)) {
    std::int64_t at = 0;
    for (const int pages : tiles) {
      slots.tiles.push_back({at + kPage, pages * kPage});
      at += (pages + 1) * kPage;
    }
    for (const int pages : spares) {
      slots.spares.push_back({at, pages * kPage});
      at += pages * kPage;
    }
    disk.bytes.resize(static_cast<std::size_t>(at));
    slots.patience = patience;
    files = std::make_unique<VersionedFiles>(std::make_unique<MemoryFiles>(disk), slots);
  }
  [[nodiscard]] const Tile& tile(std::size_t i) const { return slots.tiles[i]; }
  void write(std::size_t i, int content) {
    files->write(tile(i).offset, std::vector(static_cast<std::size_t>(tile(i).bytes),
                                             static_cast<std::byte>(content)));
  }
  /// Returns the content of a tile, or -1 if its bytes differ among each other.
  int read(std::size_t i) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(tile(i).bytes));
    files->read(tile(i).offset, bytes);
    return content_of(bytes);
  }
  int read_frozen(std::size_t i) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(tile(i).bytes));
    files->read_frozen(tile(i), bytes);
    return content_of(bytes);
  }
  static int content_of(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes)
      if (byte != bytes[0]) return -1;
    return std::to_integer<int>(bytes[0]);
  }
};

}  // namespace ds::test
