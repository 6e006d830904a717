// Tries the I/O engines from the fastest down and records why the faster ones were refused.
#include "engine/storage/ladder.h"

#include <array>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "engine/storage/thread_queue.h"

namespace ds {

Ladder::Ladder(const TileFilesSpec& spec, std::shared_ptr<const OpenFiles> files,
               const UringCalls& calls)
    : spec_(spec), beside_spec_(spec), files_(std::move(files)) {
  beside_spec_.depth = spec.beside_depth;
  if (spec_.engine == TileEngine::threads) {
    stay_with_threads();
    step_ = "threads with pread and pwrite, as configured";
    return;
  }
  std::string why_not;
  if (climb_to_uring(calls, why_not)) {
    step_ = "io_uring without registered buffers";
    return;
  }
  if (spec_.engine == TileEngine::uring) {
    throw Error(ErrorKind::config, "offload.io.engine = \"uring\": " + why_not,
                "allow it (seccomp profile of the container, sysctl kernel.io_uring_disabled), or "
                "use offload.io.engine = \"auto\"");
  }
  stay_with_threads();
  step_ = fmt::format("threads with pread and pwrite ({})", why_not);
}

bool Ladder::climb_to_uring(const UringCalls& calls, std::string& why_not) {
  auto reads = make_uring_queue(files_, Direction::read, spec_.requests(), calls, why_not);
  if (!reads) return false;
  auto writes = make_uring_queue(files_, Direction::write, spec_.requests(), calls, why_not);
  if (!writes) return false;
  std::unique_ptr<UringQueue> beside;
  if (beside_spec_.depth > 0) {
    beside = make_uring_queue(files_, Direction::read, beside_spec_.requests(), calls, why_not,
                              Urgency::low);
    if (!beside) return false;
  }
  read_ring_ = reads.get();
  write_ring_ = writes.get();
  make_lanes(std::move(reads), std::move(writes), std::move(beside));
  try {
    try_page();
  } catch (const Error& error) {
    why_not = fmt::format("io_uring fails: {}", error.what());
    read_ring_ = nullptr;
    write_ring_ = nullptr;
    return false;
  }
  return true;
}

void Ladder::stay_with_threads() {
  std::unique_ptr<BlockQueue> beside;
  if (beside_spec_.depth > 0)
    beside = make_thread_queue(files_, Direction::read, beside_spec_.requests(), Urgency::low);
  make_lanes(make_thread_queue(files_, Direction::read, spec_.requests()),
             make_thread_queue(files_, Direction::write, spec_.requests()), std::move(beside));
}

void Ladder::make_lanes(std::unique_ptr<BlockQueue> reads, std::unique_ptr<BlockQueue> writes,
                        std::unique_ptr<BlockQueue> beside) {
  const auto lane = [&](Direction direction, std::unique_ptr<BlockQueue> queue,
                        const TileFilesSpec& spec) {
    const Stripes stripes{.files = static_cast<int>(spec_.folders.size()), .block = spec_.block};
    return std::make_unique<BlockLane>(
        BlockLane::Parts{.direction = direction,
                         .stripes = stripes,
                         .files = files_,
                         .queue = std::move(queue),
                         .checksums = spec_.checksum ? &checksums_ : nullptr},
        spec);
  };
  reader_ = lane(Direction::read, std::move(reads), spec_);
  writer_ = lane(Direction::write, std::move(writes), spec_);
  beside_ = beside ? lane(Direction::read, std::move(beside), beside_spec_) : nullptr;
}

void Ladder::try_page() {
  if (spec_.bytes == 0) return;
  alignas(kTileAlignment) std::array<std::byte, kTileAlignment> page{};
  writer_->run(0, page.data(), kTileAlignment);
  reader_->run(0, page.data(), kTileAlignment);
  if (beside_) beside_->run(0, page.data(), kTileAlignment);
  checksums_.clear();
}

void Ladder::register_memory(std::span<const std::span<std::byte>> arenas) {
  if (read_ring_ == nullptr) return;
  int error = read_ring_->register_memory(arenas);
  if (error == 0) error = write_ring_->register_memory(arenas);
  if (error == 0) {
    step_ = "io_uring with registered buffers";
    return;
  }
  read_ring_->register_memory({});
  step_ =
      fmt::format("io_uring without registered buffers ({}{})",
                  std::generic_category().message(error), error == ENOMEM ? ", see ulimit -l" : "");
}

}  // namespace ds
