// Maps tiles to slots. Tiles are found by offset, spare slots by size.
#include "engine/storage/versioned_files.h"

#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace ds {

VersionedFiles::VersionedFiles(std::unique_ptr<TileFiles> files, Slots slots)
    : files_(std::move(files)), patience_(slots.patience), spares_(std::move(slots.spares)) {
  std::vector<Tile> all = slots.tiles;
  all.insert(all.end(), spares_.begin(), spares_.end());
  std::ranges::sort(all, {}, &Tile::offset);
  for (std::size_t i = 0; i < all.size(); ++i) {
    DS_ASSERT(all[i].bytes > 0 && all[i].bytes % kTileAlignment == 0);
    DS_ASSERT(all[i].offset >= 0 && all[i].offset % kTileAlignment == 0);
    DS_ASSERT(i == 0 || all[i - 1].offset + all[i - 1].bytes <= all[i].offset);
  }
  for (const Tile& tile : slots.tiles)
    entries_.push_back({.tile = tile, .slot = tile.offset, .frozen = kNone});
  std::ranges::sort(entries_, {}, [](const Entry& entry) { return entry.tile.offset; });
}

void VersionedFiles::freeze(std::span<const Tile> tiles) {
  const std::scoped_lock lock(mutex_);
  const auto is_frozen = [](const Entry& entry) { return entry.frozen != kNone; };
  DS_ASSERT(std::ranges::none_of(entries_, is_frozen), "the save before is not over");
  for (const Tile& tile : tiles) {
    Entry* const entry = entry_of(tile.offset, static_cast<std::size_t>(tile.bytes));
    DS_ASSERT(entry != nullptr && entry->tile == tile);
    entry->frozen = entry->slot;
  }
}

void VersionedFiles::read_frozen(const Tile& tile, std::span<std::byte> into) {
  DS_ASSERT(std::ssize(into) == tile.bytes);
  std::int64_t slot = 0;
  {
    const std::scoped_lock lock(mutex_);
    slot = frozen_entry(tile).frozen;
  }
  files_->read_beside(slot, into);
}

void VersionedFiles::release(const Tile& tile) {
  const std::scoped_lock lock(mutex_);
  release_entry(frozen_entry(tile));
  released_.notify_all();
}

void VersionedFiles::thaw() {
  const std::scoped_lock lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.frozen != kNone) release_entry(entry);
  }
  released_.notify_all();
}

std::int64_t VersionedFiles::waits() const {
  const std::scoped_lock lock(mutex_);
  return waits_;
}

void VersionedFiles::read(std::int64_t offset, std::span<std::byte> into) {
  files_->read(place_of(offset, into.size()), into);
}

void VersionedFiles::write(std::int64_t offset, std::span<const std::byte> from) {
  std::int64_t place = offset;
  {
    std::unique_lock lock(mutex_);
    if (Entry* const entry = entry_of(offset, from.size())) {
      // A write of a part would leave the rest of the frozen tile in the old slot.
      DS_ASSERT(entry->frozen != entry->slot || entry->tile.bytes == std::ssize(from));
      if (entry->frozen == entry->slot) move_to_spare(*entry, lock);
      place += entry->slot - entry->tile.offset;
    }
  }
  files_->write(place, from);
}

void VersionedFiles::read_beside(std::int64_t offset, std::span<std::byte> into) {
  files_->read_beside(place_of(offset, into.size()), into);
}

void VersionedFiles::register_memory(std::span<std::byte> arena) { files_->register_memory(arena); }

const std::string& VersionedFiles::description() const { return files_->description(); }

// The probe runs before the first write, when every tile is still in its first slot.
DiskRates VersionedFiles::probe() { return files_->probe(); }

VersionedFiles::Entry* VersionedFiles::entry_of(std::int64_t offset, std::size_t bytes) {
  const std::int64_t end = offset + static_cast<std::int64_t>(bytes);
  const auto begin_of = [](const Entry& entry) { return entry.tile.offset; };
  const auto after = std::ranges::upper_bound(entries_, offset, {}, begin_of);
  DS_ASSERT(after == entries_.end() || end <= after->tile.offset, "a range over several tiles");
  if (after == entries_.begin()) return nullptr;
  Entry& entry = *std::prev(after);
  const std::int64_t end_of_tile = entry.tile.offset + entry.tile.bytes;
  DS_ASSERT(end <= end_of_tile || offset >= end_of_tile, "a range beyond its tile");
  return offset < end_of_tile ? &entry : nullptr;
}

VersionedFiles::Entry& VersionedFiles::frozen_entry(const Tile& tile) {
  Entry* const entry = entry_of(tile.offset, static_cast<std::size_t>(tile.bytes));
  DS_ASSERT(entry != nullptr && entry->tile == tile && entry->frozen != kNone);
  return *entry;
}

std::int64_t VersionedFiles::place_of(std::int64_t offset, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  const Entry* const entry = entry_of(offset, bytes);
  return entry == nullptr ? offset : offset + entry->slot - entry->tile.offset;
}

// spares_ never holds more than its initial number of slots, so push_back does not allocate.
void VersionedFiles::release_entry(Entry& entry) {
  if (entry.frozen != entry.slot) spares_.push_back({entry.frozen, entry.tile.bytes});
  entry.frozen = kNone;
  ++releases_;
}

std::int64_t VersionedFiles::take_spare(std::int64_t bytes) {
  const auto found = std::ranges::find(spares_, bytes, &Tile::bytes);
  if (found == spares_.end()) return kNone;
  const std::int64_t slot = found->offset;
  *found = spares_.back();
  spares_.pop_back();
  return slot;
}

void VersionedFiles::move_to_spare(Entry& entry, std::unique_lock<std::mutex>& lock) {
  std::int64_t slot = take_spare(entry.tile.bytes);
  if (slot == kNone) ++waits_;
  while (slot == kNone) {
    const std::int64_t before = releases_;
    if (!released_.wait_for(lock, patience_, [&] { return releases_ != before; })) {
      throw Error(
          ErrorKind::deadline,
          fmt::format("writing tile byte {}: its previous {} are still needed by a checkpoint that "
                      "is being written, and no spare slot became free within {}",
                      entry.tile.offset, format_bytes(entry.tile.bytes),
                      format_duration(std::chrono::duration<double>(patience_).count())),
          "the disk of the checkpoint hangs or is too slow; see the kernel's log (dmesg), raise "
          "checkpoint.rate, or save less often");
    }
    if (entry.frozen != entry.slot) return;  // released meanwhile, so it may be written in place
    slot = take_spare(entry.tile.bytes);
  }
  entry.slot = slot;
}

}  // namespace ds
