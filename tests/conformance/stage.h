// Stage: runs a test's op in a device's memory, on copies of its tensors between guards.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "conformance/op_tensors.h"

namespace ds::conformance {

/// Tensors are copied to the tier `device`, those of integers and f64 to pinned memory, where the
/// trainer keeps data that the host reads too. Every tensor lies between guards of NaN: reading
/// them spoils the result, and writing them is detected, as is a change of an input. Tests hold
/// heads by_head; the stage converts them to the backend's layout.
class Stage {
 public:
  Stage(Device& device, Stream& stream, HeadsLayout layout)
      : device_(device), stream_(stream), layout_(layout) {}

  /// Calls run(op in this memory) and copies the results back. Returns a description of errors
  /// beyond wrong values; empty: none.
  template <class Op, class Run>
  std::string run(Op op, const Run& run) {
    uses_.clear();
    for_each_tensor(op, [&](auto& tensor, const Heads& heads = {}) {
      constexpr bool kWrites = std::is_same_v<std::decay_t<decltype(tensor)>, Tensor>;
      if (tensor)
        add({.data = tensor.data, .bytes = tensor.bytes(), .heads = heads}, tensor, kWrites);
    });
    bring_in();
    for_each_tensor(op, [&](auto& tensor, const Heads& = {}) {
      if (tensor) tensor.data = moved(tensor.data);
    });
    run(op);
    return bring_back();
  }

  static constexpr std::size_t kGuard = 4096;

 private:
  /// One tensor of the test, or several overlapping ones.
  struct Use {
    const void* data = nullptr;
    std::int64_t bytes = 0;
    Heads heads{};
    bool writes = false, pinned = false;
    std::int64_t element = 1;
    std::size_t offset = 0;  // in the stage's memory

    [[nodiscard]] std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(data); }
    [[nodiscard]] std::uintptr_t end() const { return begin() + static_cast<std::size_t>(bytes); }
  };

  void add(Use use, const BasicTensor<void*>& tensor, bool writes) {
    add(use, tensor.dtype, writes);
  }
  void add(Use use, const BasicTensor<const void*>& tensor, bool writes) {
    add(use, tensor.dtype, writes);
  }
  void add(Use use, DType dtype, bool writes);
  void merge_overlaps();
  void place();
  void reserve();
  void bring_in();
  std::string bring_back();
  void permute(const Use& use, std::byte* staged, bool in) const;
  [[nodiscard]] std::byte* staged(const Use& use) const;
  [[nodiscard]] std::string changed_outside(bool pinned) const;
  void* moved(const void* data) const;

  Device& device_;
  Stream& stream_;
  HeadsLayout layout_;
  std::vector<Use> uses_;
  std::size_t device_bytes_ = 0, pinned_bytes_ = 0;
  std::unique_ptr<Arena> device_memory_,
      pinned_memory_;              // pinned: the image of device memory, then pinned tensors
  std::vector<std::byte> before_;  // pinned_memory_ before the op
};

}  // namespace ds::conformance
