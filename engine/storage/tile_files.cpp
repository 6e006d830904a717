// Puts together files, lanes and checksums; chooses the step of the ladder.
#include "engine/storage/tile_files.h"

#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/storage/block_lane.h"
#include "engine/storage/checksums.h"
#include "engine/storage/disk_probe.h"
#include "engine/storage/reserved_files.h"
#include "engine/storage/thread_queue.h"

namespace ds {
namespace {

bool is_aligned(std::int64_t number) { return number % kTileAlignment == 0; }

void check_spec(const TileFilesSpec& spec) {
  DS_ASSERT(spec.bytes >= 0 && is_aligned(spec.bytes));
  DS_ASSERT(spec.block > 0 && is_aligned(spec.block));
  DS_ASSERT(spec.depth > 0);
  const auto refuse = [](const std::string& what, const char* hint) {
    throw Error(ErrorKind::config, what, hint);
  };
  if (spec.folders.empty()) refuse("no folder for files is given", "name one on a fast local disk");
  if (spec.engine != "auto" && spec.engine != "threads") {
    refuse(fmt::format("engine \"{}\" for files does not exist", spec.engine),
           "one of \"auto\", \"threads\"");
  }
}

class StripedFiles final : public TileFiles {
 public:
  explicit StripedFiles(const TileFilesSpec& spec) : spec_(spec) {
    ReservedFiles reserved = reserve_files(spec);
    remark_ = std::move(reserved.remark);
    files_ = std::make_shared<OpenFiles>(std::move(reserved.open));
    reader_ = make_lane(Direction::read);
    writer_ = make_lane(Direction::write);
    description_ = fmt::format("threads with pread and pwrite, {}, {} folder{}, blocks of {}",
                               remark_, spec_.folders.size(), spec_.folders.size() == 1 ? "" : "s",
                               format_bytes(spec_.block));
  }

  void read(std::int64_t offset, std::span<std::byte> into) override {
    move(*reader_, offset, into.data(), into.size());
  }

  void write(std::int64_t offset, std::span<const std::byte> from) override {
    // The queue's blocks are of one kind for both directions; this lane only reads the memory.
    move(*writer_, offset, const_cast<std::byte*>(from.data()), from.size());
  }

  void register_memory(std::span<std::byte>) override {}

  [[nodiscard]] const std::string& description() const override { return description_; }

  DiskRates probe() override {
    const DiskRates rates = measure_disk(*this, spec_.bytes, spec_.block * spec_.depth);
    checksums_.clear();
    return rates;
  }

 private:
  std::unique_ptr<BlockLane> make_lane(Direction direction) {
    return std::make_unique<BlockLane>(
        BlockLane::Parts{
            .direction = direction,
            .stripes = {.files = static_cast<int>(spec_.folders.size()), .block = spec_.block},
            .files = files_,
            .queue = make_thread_queue(files_, direction, spec_.depth),
            .checksums = spec_.checksum ? &checksums_ : nullptr},
        spec_);
  }

  void move(BlockLane& lane, std::int64_t offset, std::byte* memory, std::size_t size) const {
    const auto bytes = static_cast<std::int64_t>(size);
    DS_ASSERT(is_aligned(offset) && is_aligned(bytes));
    DS_ASSERT(is_aligned(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(memory))));
    DS_ASSERT(offset >= 0 && offset + bytes <= spec_.bytes);
    lane.run(offset, memory, bytes);
  }

  TileFilesSpec spec_;
  std::string remark_;
  std::string description_;
  std::shared_ptr<const OpenFiles> files_;
  Checksums checksums_;
  std::unique_ptr<BlockLane> reader_, writer_;
};

}  // namespace

std::unique_ptr<TileFiles> TileFiles::open(const TileFilesSpec& spec) {
  check_spec(spec);
  return std::make_unique<StripedFiles>(spec);
}

}  // namespace ds
