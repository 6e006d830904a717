// Files whose tiles may be frozen: what is written to a frozen tile goes to another slot of the
// files, so that a checkpoint's writer reads the old bytes while training goes on.
#pragma once

#include <condition_variable>
#include <mutex>

#include "engine/storage/tile_files.h"

namespace ds {

/// Wraps a TileFiles. Each of its tiles lies in a slot: a range of the files of the same size. At
/// first that is the range which the tile's own offset names; a write to a frozen tile moves the
/// tile to a spare slot, and the slot that it left stays as it is until it is released; then it is
/// a spare one. Tiles that nobody writes while they are frozen cost nothing. All other bytes of the
/// files are as without.
///
/// A save: freeze() at the end of a step; then, beside the next steps, read_frozen() and release()
/// for tile after tile on the writer's thread; or thaw(). One save at a time.
/// Threads: training's one that reads and one that writes, as ever; beside them one that calls
///          read_frozen(); release() and thaw() on any; freeze() while training moves nothing.
/// Memory:  nothing is allocated once all tiles have been in all their slots.
/// Errors:  as TileFiles. Those of read_frozen() are the save's alone: training goes on with its
///          own lanes, and so do later saves unless it was Error{deadline}.
class VersionedFiles final : public TileFiles {
 public:
  struct Tile {
    std::int64_t offset = 0, bytes = 0;  // multiples of kTileAlignment
    friend bool operator==(const Tile&, const Tile&) = default;
  };

  struct Slots {
    std::vector<Tile> tiles{};   // all that may ever be frozen
    std::vector<Tile> spares{};  // a tile takes those of its own size alone
    /// A write that finds no spare slot waits for one; an error once none was released for so long.
    std::chrono::milliseconds patience = std::chrono::minutes(10);
  };
  /// `files` were opened with a beside_depth. Nothing of `slots` overlaps.
  VersionedFiles(std::unique_ptr<TileFiles> files, Slots slots);

  /// No I/O: what these tiles hold now belongs to the save until it is released.
  void freeze(std::span<const Tile> tiles);
  /// The bytes of a frozen tile as they were at freeze(). `into` has the tile's size, at an address
  /// that is a multiple of kTileAlignment; after Error{deadline} the disk may still write there.
  void read_frozen(const Tile& tile, std::span<std::byte> into);
  /// The save has this frozen tile's bytes: its slot may be written again.
  void release(const Tile& tile);
  /// The save is over or given up: all that is still frozen is released. Not beside a
  /// read_frozen().
  void thaw();
  /// Writes that had to wait for a slot so far.
  [[nodiscard]] std::int64_t waits() const;

  void read(std::int64_t offset, std::span<std::byte> into) override;
  void write(std::int64_t offset, std::span<const std::byte> from) override;
  void read_beside(std::int64_t offset, std::span<std::byte> into) override;
  void register_memory(std::span<std::byte> arena) override;
  [[nodiscard]] const std::string& description() const override;
  DiskRates probe() override;

 private:
  /// A tile and where it is.
  struct Entry {
    Tile tile;
    std::int64_t slot = 0;    // offset of what training reads and writes
    std::int64_t frozen = 0;  // offset of what the save has; kNone: not frozen
  };
  static constexpr std::int64_t kNone = -1;

  [[nodiscard]] Entry* entry_of(std::int64_t offset, std::size_t bytes);
  [[nodiscard]] Entry& frozen_entry(const Tile& tile);
  [[nodiscard]] std::int64_t place_of(std::int64_t offset, std::size_t bytes);
  void release_entry(Entry& entry);
  /// A spare slot of that size, taken; kNone: there is none.
  [[nodiscard]] std::int64_t take_spare(std::int64_t bytes);
  void move_to_spare(Entry& entry, std::unique_lock<std::mutex>& lock);

  std::unique_ptr<TileFiles> files_;
  std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::vector<Entry> entries_;  // by offset
  std::vector<Tile> spares_;    // free ones
  std::int64_t releases_ = 0, waits_ = 0;
};

}  // namespace ds
