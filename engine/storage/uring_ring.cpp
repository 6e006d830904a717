// io_uring_setup and its mappings, with the memory barriers that io_uring(7) prescribes.
#include "engine/storage/uring_ring.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

namespace ds {
namespace {

int system_setup(unsigned entries, io_uring_params* params) {
  return static_cast<int>(::syscall(__NR_io_uring_setup, entries, params));
}

int system_enter(int ring, unsigned submit, unsigned complete, unsigned flags, const void* argument,
                 std::size_t size) {
  return static_cast<int>(
      ::syscall(__NR_io_uring_enter, ring, submit, complete, flags, argument, size));
}

int system_register(int ring, unsigned what, const void* argument, unsigned count) {
  return static_cast<int>(::syscall(__NR_io_uring_register, ring, what, argument, count));
}

unsigned* word_at(std::byte* memory, unsigned offset) {
  return reinterpret_cast<unsigned*>(memory + offset);
}

}  // namespace

const UringCalls& kernel_uring_calls() {
  static constexpr UringCalls kCalls{system_setup, system_enter, system_register};
  return kCalls;
}

RingMapping::RingMapping(int ring, std::size_t size, unsigned long long offset) : size_(size) {
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                              ring, static_cast<off_t>(offset));
  if (memory != MAP_FAILED) memory_ = static_cast<std::byte*>(memory);
}

RingMapping::RingMapping(RingMapping&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), size_(other.size_) {}

RingMapping& RingMapping::operator=(RingMapping&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  return *this;
}

RingMapping::~RingMapping() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

bool UringRing::open(unsigned entries, const UringCalls& calls) {
  io_uring_params params{};
  fd_ = UniqueFd(calls.setup(entries, &params));
  if (!fd_) return false;
  constexpr unsigned kNeeded = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_EXT_ARG | IORING_FEAT_NODROP;
  if ((params.features & kNeeded) != kNeeded) {
    errno = ENOSYS;
    return false;
  }
  const std::size_t order_bytes =
      params.sq_off.array + std::size_t{params.sq_entries} * sizeof(unsigned);
  const std::size_t end_bytes =
      params.cq_off.cqes + std::size_t{params.cq_entries} * sizeof(io_uring_cqe);
  rings_ = RingMapping(fd_.get(), std::max(order_bytes, end_bytes), IORING_OFF_SQ_RING);
  orders_ = RingMapping(fd_.get(), std::size_t{params.sq_entries} * sizeof(io_uring_sqe),
                        IORING_OFF_SQES);
  if (rings_.memory() == nullptr || orders_.memory() == nullptr) return false;
  std::byte* const memory = rings_.memory();
  order_tail_ = word_at(memory, params.sq_off.tail);
  order_array_ = word_at(memory, params.sq_off.array);
  order_mask_ = *word_at(memory, params.sq_off.ring_mask);
  end_head_ = word_at(memory, params.cq_off.head);
  end_tail_ = word_at(memory, params.cq_off.tail);
  end_mask_ = *word_at(memory, params.cq_off.ring_mask);
  ends_ = reinterpret_cast<io_uring_cqe*>(memory + params.cq_off.cqes);
  return true;
}

io_uring_sqe& UringRing::next_order() {
  // The kernel reads orders only inside io_uring_enter, so the tail may advance first.
  const unsigned tail = *order_tail_;
  const unsigned place = tail & order_mask_;
  order_array_[place] = place;
  io_uring_sqe& order = reinterpret_cast<io_uring_sqe*>(orders_.memory())[place];
  order = {};
  std::atomic_ref(*order_tail_).store(tail + 1, std::memory_order_release);
  ++unsubmitted_;
  return order;
}

std::optional<RingEnd> UringRing::take_end() {
  const unsigned head = *end_head_;
  if (head == std::atomic_ref(*end_tail_).load(std::memory_order_acquire)) return {};
  const io_uring_cqe& entry = ends_[head & end_mask_];
  const RingEnd end{.tag = entry.user_data, .result = entry.res};
  std::atomic_ref(*end_head_).store(head + 1, std::memory_order_release);
  return end;
}

}  // namespace ds
