// SlotMemory: a slot and its bytes in this process's address space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "engine/keep/kept_slot.h"

namespace ds {

/// Bytes are read and written in place, also by other ranks of the machine.
class SlotMemory {
 public:
  /// As KeptSlot::create(). Errors: Error{system}.
  SlotMemory(std::int64_t bytes, const std::string& folder);
  ~SlotMemory();
  SlotMemory(SlotMemory&& other) noexcept;
  SlotMemory& operator=(SlotMemory&&) = delete;

  [[nodiscard]] KeptSlot& slot() { return slot_; }
  [[nodiscard]] std::int64_t size() const { return std::ssize(memory_); }
  /// Returns what a buddy gets: the pieces and the text, as far as `header` says.
  [[nodiscard]] std::span<std::byte> contents(const KeptHeader& header) const;

 private:
  KeptSlot slot_;
  std::span<std::byte> memory_;
};

}  // namespace ds
