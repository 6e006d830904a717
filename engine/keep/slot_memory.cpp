// Maps slots into memory, and returns the part of a slot that a buddy gets.
#include "engine/keep/slot_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "engine/base/error.h"

namespace ds {

SlotMemory::SlotMemory(std::int64_t bytes, const std::string& folder)
    : slot_(KeptSlot::create(bytes, folder)) {
  const auto size = static_cast<std::size_t>(bytes);
  void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, slot_.fd(), 0);
  if (at == MAP_FAILED)
    throw Error(ErrorKind::system,
                "kept states: a slot cannot be mapped: " + std::generic_category().message(errno));
  memory_ = {static_cast<std::byte*>(at), size};
}

SlotMemory::SlotMemory(SlotMemory&& other) noexcept
    : slot_(std::move(other.slot_)), memory_(std::exchange(other.memory_, {})) {}

SlotMemory::~SlotMemory() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

std::span<std::byte> SlotMemory::contents(const KeptHeader& header) const {
  const std::int64_t end = header.text_at + header.text_bytes;
  DS_ASSERT(header.text_at >= KeptSlot::kPieces && end <= size(), "checked with the header");
  return memory_.subspan(static_cast<std::size_t>(KeptSlot::kPieces),
                         static_cast<std::size_t>(end - KeptSlot::kPieces));
}

}  // namespace ds
