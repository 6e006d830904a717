// VersionedFiles: files whose tiles can be frozen.
// Writes to a frozen tile go to another slot, so that a checkpoint can read the old bytes while
// training continues.
#pragma once

#include <condition_variable>
#include <mutex>

#include "engine/storage/tile_files.h"

namespace ds {

/// Wraps a TileFiles. Each tile occupies a slot: a range of the files of the same size, at first
/// the range at the tile's own offset. A write to a frozen tile moves the tile to a spare slot. The
/// old slot keeps its bytes until it is released and is then a spare one. Tiles that nobody writes
/// while they are frozen cost nothing. Bytes outside the tiles behave as in the wrapped files.
///
/// A save calls freeze() at the end of a step. During the next steps the writer's thread calls
/// read_frozen() and release() for one tile after the other, or thaw(). One save at a time.
/// Threads: training's reader and writer as in TileFiles, plus one that calls read_frozen().
///          release() and thaw() on any thread; freeze() while training transfers nothing.
/// Memory:  nothing is allocated once all tiles have been in all their slots.
/// Errors:  as TileFiles. Errors of read_frozen() concern only the save: training continues
///          with its own lanes, and so do later saves unless it was Error{deadline}.
class VersionedFiles final : public TileFiles {
 public:
  struct Tile {
    std::int64_t offset = 0, bytes = 0;  // multiples of kTileAlignment
    friend bool operator==(const Tile&, const Tile&) = default;
  };

  struct Slots {
    std::vector<Tile> tiles{};   // all tiles that may ever be frozen
    std::vector<Tile> spares{};  // a tile uses only spare slots of its own size
    /// How long a write waits for a spare slot without any release before it is an error.
    std::chrono::milliseconds patience = std::chrono::minutes(10);
  };
  /// `files` must have a beside_depth. The ranges of `slots` do not overlap.
  VersionedFiles(std::unique_ptr<TileFiles> files, Slots slots);

  /// Freezes the tiles: their present bytes belong to the save until they are released. No I/O.
  void freeze(std::span<const Tile> tiles);
  /// Reads a frozen tile as it was at freeze(). `into` has the tile's size and an address that is a
  /// multiple of kTileAlignment; after Error{deadline} the disk may still write there.
  void read_frozen(const Tile& tile, std::span<std::byte> into);
  /// Ends the use of a frozen tile by the save; its slot may be written again.
  void release(const Tile& tile);
  /// Releases all tiles that are still frozen, at the end of a save or when it is given up. Must
  /// not run at the same time as read_frozen().
  void thaw();
  /// Returns the number of writes that had to wait for a slot so far.
  [[nodiscard]] std::int64_t waits() const;

  void read(std::int64_t offset, std::span<std::byte> into) override;
  void write(std::int64_t offset, std::span<const std::byte> from) override;
  void read_beside(std::int64_t offset, std::span<std::byte> into) override;
  void register_memory(std::span<std::byte> arena) override;
  [[nodiscard]] const std::string& description() const override;
  DiskRates probe() override;

 private:
  /// A tile and its slots.
  struct Entry {
    Tile tile;
    std::int64_t slot = 0;    // offset that training reads and writes
    std::int64_t frozen = 0;  // offset that the save reads; kNone: not frozen
  };
  static constexpr std::int64_t kNone = -1;

  [[nodiscard]] Entry* entry_of(std::int64_t offset, std::size_t bytes);
  [[nodiscard]] Entry& frozen_entry(const Tile& tile);
  [[nodiscard]] std::int64_t place_of(std::int64_t offset, std::size_t bytes);
  void release_entry(Entry& entry);
  /// Takes a spare slot of that size and returns its offset, or kNone if there is none.
  [[nodiscard]] std::int64_t take_spare(std::int64_t bytes);
  void move_to_spare(Entry& entry, std::unique_lock<std::mutex>& lock);

  std::unique_ptr<TileFiles> files_;
  std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::vector<Entry> entries_;  // by offset
  std::vector<Tile> spares_;    // free slots
  std::int64_t releases_ = 0, waits_ = 0;
};

}  // namespace ds
