// Stage: layout, copies, permutation of heads and the check of the guards.
#include "conformance/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace ds::conformance {
namespace {

constexpr std::size_t kAlignment = 64;  // tensors keep their offset from a multiple of this

/// Where the D elements of (part, b, h, t) begin in the backend's layout and in the test's.
struct Places {
  std::int64_t here, test;
};
Places places_of(const Heads& n, HeadsLayout layout, int part, std::int64_t b, std::int64_t h,
                 std::int64_t t) {
  const std::int64_t total = n.heads + 2 * n.kv_heads;
  const std::int64_t first = part == 0 ? 0 : n.heads + (part - 1) * n.kv_heads;
  const std::int64_t of_part = part == 0 ? n.heads : n.kv_heads;
  const std::int64_t by_head =
      (first * n.batch * n.time + (b * of_part + h) * n.time + t) * n.depth;
  const std::int64_t by_row = ((b * n.time + t) * total + first + h) * n.depth;
  return {layout == HeadsLayout::by_head ? by_head : by_row, by_head};
}

}  // namespace

void Stage::add(Use use, DType dtype, bool writes) {
  use.writes = writes;
  use.element = size_of(dtype);
  use.pinned = dtype == DType::i32 || dtype == DType::i64 || dtype == DType::f64;
  uses_.push_back(use);
}

/// Merges overlapping uses: in-place results and slices of one buffer share memory on the device
/// too.
void Stage::merge_overlaps() {
  std::sort(uses_.begin(), uses_.end(),
            [](const Use& a, const Use& b) { return a.begin() < b.begin(); });
  std::vector<Use> merged;
  for (const Use& use : uses_) {
    if (merged.empty() || use.begin() >= merged.back().end()) {
      merged.push_back(use);
      continue;
    }
    Use& last = merged.back();
    DS_ASSERT(last.pinned == use.pinned);
    if (last.heads || use.heads) DS_ASSERT(last.data == use.data && last.bytes == use.bytes);
    last.bytes = static_cast<std::int64_t>(std::max(last.end(), use.end()) - last.begin());
    last.writes = last.writes || use.writes;
  }
  uses_ = std::move(merged);
}

void Stage::place() {
  device_bytes_ = pinned_bytes_ = kGuard;
  for (Use& use : uses_) {
    std::size_t& end = use.pinned ? pinned_bytes_ : device_bytes_;
    use.offset = end + use.begin() % kAlignment;
    end = (use.offset + static_cast<std::size_t>(use.bytes) + kGuard + kAlignment - 1) /
          kAlignment * kAlignment;
  }
}

void Stage::reserve() {
  const std::size_t pinned = device_bytes_ + pinned_bytes_;
  if (!device_memory_ || device_memory_->bytes() < device_bytes_) {
    device_memory_.reset();
    device_memory_ = device_.allocate(Tier::device, 2 * device_bytes_);
  }
  if (!pinned_memory_ || pinned_memory_->bytes() < pinned) {
    pinned_memory_.reset();
    pinned_memory_ = device_.allocate(Tier::pinned_host, 2 * pinned);
  }
}

std::byte* Stage::staged(const Use& use) const {
  return pinned_memory_->data() + (use.pinned ? device_bytes_ : 0) + use.offset;
}

void* Stage::moved(const void* data) const {
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  for (const Use& use : uses_) {
    if (at < use.begin() || at >= use.end()) continue;
    std::byte* base = use.pinned ? staged(use) : device_memory_->data() + use.offset;
    return base + (at - use.begin());
  }
  DS_ASSERT(false);
  return nullptr;
}

void Stage::permute(const Use& use, std::byte* staged, bool in) const {
  auto* test = static_cast<std::byte*>(const_cast<void*>(use.data));
  if (!use.heads) {
    std::memcpy(in ? staged : test, in ? test : staged, static_cast<std::size_t>(use.bytes));
    return;
  }
  const Heads& n = use.heads;
  const auto piece = static_cast<std::size_t>(n.depth * use.element);
  for (int part = 0; part < 3; ++part) {
    for (std::int64_t b = 0; b < n.batch; ++b) {
      for (std::int64_t h = 0; h < (part == 0 ? n.heads : n.kv_heads); ++h) {
        for (std::int64_t t = 0; t < n.time; ++t) {
          const Places at = places_of(n, layout_, part, b, h, t);
          std::byte* here = staged + at.here * use.element;
          std::byte* there = test + at.test * use.element;
          std::memcpy(in ? here : there, in ? there : here, piece);
        }
      }
    }
  }
}

void Stage::bring_in() {
  merge_overlaps();
  place();
  reserve();
  const std::size_t all = device_bytes_ + pinned_bytes_;
  std::memset(pinned_memory_->data(), 0xFF, all);
  for (const Use& use : uses_) permute(use, staged(use), true);
  before_.assign(pinned_memory_->data(), pinned_memory_->data() + all);
  device_.copy(device_memory_->data(), pinned_memory_->data(), device_bytes_, stream_);
}

/// Describes the first changed byte outside of every tensor that the op may write.
std::string Stage::changed_outside(bool pinned) const {
  const std::size_t first = pinned ? device_bytes_ : 0;
  const std::byte* now = pinned_memory_->data() + first;
  const std::byte* was = before_.data() + first;
  std::size_t at = 0;
  const auto compare = [&](std::size_t end) {
    const auto* differs = std::mismatch(now + at, now + end, was + at).first;
    return differs == now + end ? std::string()
                                : fmt::format("byte {} of {} memory was written", differs - now,
                                              pinned ? "pinned" : "device");
  };
  std::string wrong;
  for (const Use& use : uses_) {
    if (use.pinned != pinned || !use.writes) continue;
    if (wrong.empty()) wrong = compare(use.offset);
    at = use.offset + static_cast<std::size_t>(use.bytes);
  }
  if (wrong.empty()) wrong = compare(pinned ? pinned_bytes_ : device_bytes_);
  if (wrong.empty()) return wrong;
  wrong += "; tensors the op may write:";
  for (const Use& use : uses_) {
    if (use.pinned != pinned || !use.writes) continue;
    wrong += fmt::format(" [{}, {})", use.offset, use.offset + static_cast<std::size_t>(use.bytes));
  }
  return wrong;
}

std::string Stage::bring_back() {
  device_.copy(pinned_memory_->data(), device_memory_->data(), device_bytes_, stream_);
  stream_.synchronize();
  for (const Use& use : uses_) {
    if (use.writes) permute(use, staged(use), false);
  }
  std::string wrong = changed_outside(false);
  return wrong.empty() ? changed_outside(true) : wrong;
}

}  // namespace ds::conformance
