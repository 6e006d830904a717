#include "engine/train/slot_copy.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"

namespace ds {

void SlotCopy::share_ended(ChunkPart part, std::string why) {
  {
    const std::lock_guard lock(mutex_);
    part_ = std::move(part);
    why_ = std::move(why);
    has_ended_ = true;
  }
  changed_.notify_all();
}

// Pieces have the same places in a slot as in a chunk file.
ChunkPart SlotCopy::write(ChunkWriter& chunk) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return has_ended_; });
  if (!why_.empty()) throw Error(ErrorKind::system, why_);
  std::span<const std::byte> rest = memory_->contents(memory_->slot().header().value());
  rest = rest.first(static_cast<std::size_t>(part_.chunk.bytes));
  while (!rest.empty()) {
    const std::size_t bytes = std::min(rest.size(), static_cast<std::size_t>(kPieceBytes));
    chunk.append(rest.first(bytes));
    rest = rest.subspan(bytes);
  }
  return part_;
}

}  // namespace ds
