// TileFiles made of reserved files, the ladder and the probe.
#include "engine/storage/tile_files.h"

#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/storage/disk_probe.h"
#include "engine/storage/ladder.h"
#include "engine/storage/reserved_files.h"

namespace ds {
namespace {

bool is_aligned(std::int64_t number) { return number % kTileAlignment == 0; }

void check_spec(const TileFilesSpec& spec) {
  DS_ASSERT(spec.bytes >= 0 && is_aligned(spec.bytes));
  DS_ASSERT(spec.block > 0 && is_aligned(spec.block));
  DS_ASSERT(spec.depth > 0 && spec.beside_depth >= 0);
  if (spec.folders.empty()) {
    throw Error(ErrorKind::config, "no folder for offloaded state is given",
                "name one on a fast local disk");
  }
}

class StripedFiles final : public TileFiles {
 public:
  StripedFiles(const TileFilesSpec& spec, ReservedFiles reserved, const UringCalls& calls)
      : spec_(spec),
        remark_(std::move(reserved.remark)),
        ladder_(spec, std::make_shared<OpenFiles>(std::move(reserved.open)), calls) {
    describe();
  }

  void read(std::int64_t offset, std::span<std::byte> into) override {
    move(ladder_.reader(), offset, into.data(), into.size());
  }

  void write(std::int64_t offset, std::span<const std::byte> from) override {
    // A block has one type for both directions; the writing lane only reads the memory.
    move(ladder_.writer(), offset, const_cast<std::byte*>(from.data()), from.size());
  }

  void read_beside(std::int64_t offset, std::span<std::byte> into) override {
    DS_ASSERT(ladder_.beside() != nullptr, "opened without a beside_depth");
    move(*ladder_.beside(), offset, into.data(), into.size());
  }

  void register_memory(std::span<std::byte> arena) override {
    arenas_.push_back(arena);
    ladder_.register_memory(arenas_);
    describe();
  }

  [[nodiscard]] const std::string& description() const override { return description_; }

  DiskRates probe() override {
    const DiskRates rates = measure_disk(*this, spec_.bytes, spec_.block * spec_.requests());
    ladder_.checksums().clear();
    return rates;
  }

 private:
  void describe() {
    const std::size_t folders = spec_.folders.size();
    description_ = fmt::format("{}; {}; {} folder{}, blocks of {}, {} at once{}", ladder_.step(),
                               remark_, folders, folders == 1 ? "" : "s", format_bytes(spec_.block),
                               spec_.depth, folders == 1 ? "" : " in each");
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
  Ladder ladder_;
  std::vector<std::span<std::byte>> arenas_;
  std::string description_;
};

}  // namespace

std::unique_ptr<TileFiles> open_tile_files(const TileFilesSpec& spec, const UringCalls& calls) {
  check_spec(spec);
  return std::make_unique<StripedFiles>(spec, reserve_files(spec), calls);
}

std::unique_ptr<TileFiles> TileFiles::open(const TileFilesSpec& spec) {
  return open_tile_files(spec, kernel_uring_calls());
}

}  // namespace ds
