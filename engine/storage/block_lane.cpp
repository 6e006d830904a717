// The loop that drives a BlockQueue. All errors, short transfers and timeouts of a disk are handled
// here, for every engine.
#include "engine/storage/block_lane.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include "engine/base/units.h"

namespace ds {
namespace {

std::string hint_for(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return "the space was reserved, but the file system is full (thin or copy-on-write "
             "storage?): free some, or use another folder";
    case EIO:
    case EREMOTEIO:
    case ENODATA:
      return "the disk reported an error; see the kernel's log (dmesg) and use a folder on another "
             "disk";
    default:
      return "use another folder, or offload.io.engine = \"threads\" if only io_uring fails";
  }
}

}  // namespace

BlockLane::BlockLane(Parts parts, const TileFilesSpec& spec)
    : parts_(std::move(parts)),
      owner_(spec.label.empty() ? fmt::format("rank {}", spec.rank)
                                : fmt::format("rank {}, {}", spec.rank, spec.label)),
      patience_(spec.patience),
      slots_(static_cast<std::size_t>(spec.requests())),
      ends_(static_cast<std::size_t>(spec.requests())) {
  free_.reserve(slots_.size());
  for (int slot = spec.requests() - 1; slot >= 0; --slot) free_.push_back(slot);
}

void BlockLane::run(std::int64_t offset, std::byte* memory, std::int64_t size) {
  const std::int64_t count = parts_.stripes.count(offset, size);
  error_.reset();
  progress_ = Clock::now();
  for (std::int64_t next = 0; next < count || free_.size() < slots_.size();) {
    for (; next < count && !error_ && !free_.empty(); ++next) {
      const StripePiece piece = parts_.stripes.piece(offset, size, next);
      const int slot = free_.back();
      free_.pop_back();
      start(slot, piece, memory + (piece.offset - offset));
    }
    if (free_.size() == slots_.size()) break;  // after an error, once nothing is in flight
    const Clock::time_point end_of_patience = progress_ + patience_;
    const int ended = parts_.queue->wait(ends_, Deadline(end_of_patience));
    for (int i = 0; i < ended; ++i) {
      const BlockEnd& block = ends_[static_cast<std::size_t>(i)];
      if (end(block)) free_.push_back(block.slot);
    }
    const bool stuck = free_.size() < slots_.size() && Clock::now() >= end_of_patience;
    if (stuck && progress_ + patience_ == end_of_patience) throw silence();
  }
  if (error_) throw Error(*error_);
}

void BlockLane::start(int slot, const StripePiece& piece, std::byte* memory) {
  slots_[static_cast<std::size_t>(slot)] = {.piece = piece, .memory = memory, .done = 0};
  if (parts_.checksums != nullptr && parts_.direction == Direction::write) {
    parts_.checksums->set(piece.offset, {memory, static_cast<std::size_t>(piece.size)});
  }
  resume(slot);
}

void BlockLane::resume(int slot) {
  const Slot& s = slots_[static_cast<std::size_t>(slot)];
  parts_.queue->start(slot, {.file = s.piece.file,
                             .offset = s.piece.file_offset + s.done,
                             .memory = s.memory + s.done,
                             .size = s.piece.size - s.done});
}

bool BlockLane::end(const BlockEnd& ended) {
  Slot& slot = slots_[static_cast<std::size_t>(ended.slot)];
  if (ended.result == -EINTR || ended.result == -EAGAIN) {
    if (error_) return true;
    resume(ended.slot);  // no progress; the patience in run() bounds the retries
    return false;
  }
  if (ended.result <= 0) {
    keep(failure(slot.piece, static_cast<int>(-ended.result)));
    return true;
  }
  // O_DIRECT may end inside an aligned block; that block is transferred again from its start.
  const bool whole = slot.done + ended.result >= slot.piece.size;
  slot.done += whole ? ended.result : ended.result / kTileAlignment * kTileAlignment;
  if (whole || ended.result >= kTileAlignment) progress_ = Clock::now();
  if (!whole && !error_) {
    resume(ended.slot);
    return false;
  }
  if (whole) check(slot);
  return true;
}

void BlockLane::check(const Slot& slot) {
  if (parts_.checksums == nullptr || parts_.direction == Direction::write) return;
  const StripePiece& piece = slot.piece;
  if (parts_.checksums->matches(piece.offset,
                                {slot.memory, static_cast<std::size_t>(piece.size)})) {
    return;
  }
  keep(Error(
      ErrorKind::system,
      fmt::format("{}: checksum mismatch: the {} read differ from the data written", place(piece),
                  format_bytes(piece.size)),
      "the disk, its cabling or the memory corrupts data; see the kernel's log (dmesg) and the "
      "disk's health (smartctl -a), and use a folder on another disk"));
}

std::string BlockLane::place(const StripePiece& piece) const {
  return fmt::format("{} {}'s file ({}) at byte {} (tile byte {})",
                     parts_.direction == Direction::read ? "reading" : "writing",
                     parts_.files->folders[static_cast<std::size_t>(piece.file)], owner_,
                     piece.file_offset, piece.offset);
}

Error BlockLane::failure(const StripePiece& piece, int error_number) const {
  const std::string why = error_number == 0 ? "the file ends here although its space was reserved"
                                            : std::generic_category().message(error_number);
  return {ErrorKind::system, fmt::format("{}: {}", place(piece), why), hint_for(error_number)};
}

Error BlockLane::silence() const {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (std::find(free_.begin(), free_.end(), static_cast<int>(slot)) != free_.end()) continue;
    return {ErrorKind::deadline,
            fmt::format("{}: no response for {}", place(slots_[slot].piece),
                        format_duration(std::chrono::duration<double>(patience_).count())),
            "the disk hangs; see the kernel's log (dmesg) and use a folder on another disk"};
  }
  return {ErrorKind::bug, "no block is in flight"};
}

void BlockLane::keep(Error error) {
  if (!error_) error_.emplace(std::move(error));
}

}  // namespace ds
