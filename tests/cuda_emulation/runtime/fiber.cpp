// Fiber: allocates stacks and prepares each for the first switch to it.
#include "fiber.h"

#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <new>

namespace emulation {
namespace {

constexpr std::size_t kPage = 4096;
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kStack = 512 << 10;
#else
constexpr std::size_t kStack = 96 << 10;
#endif

}  // namespace

Fiber::Fiber(int number, void (*entry)()) {
  void* const mapped = mmap(nullptr, kPage + kStack, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<std::byte*>(mapped);
  if (mprotect(memory_, kPage, PROT_NONE) != 0) std::abort();
#ifdef __SANITIZE_ADDRESS__
  // A fiber that was abandoned here has left its frames' red zones behind.
  ASAN_UNPOISON_MEMORY_REGION(memory_ + kPage, kStack);
#endif
  // Stack tops at different distances from the end of a page: otherwise all stacks would compete
  // for the same cache lines.
  std::byte* const top = memory_ + kPage + kStack - static_cast<std::size_t>(number % 32) * 128;
  auto* const words = reinterpret_cast<std::uintptr_t*>(top);
  words[-1] = 0;  // no return address
  words[-2] = reinterpret_cast<std::uintptr_t>(entry);
  stack_pointer = words - 2;
}

Fiber::~Fiber() { munmap(memory_, kPage + kStack); }

bool Fiber::overflown_at(const void* address) const {
  const auto* const byte = static_cast<const std::byte*>(address);
  return byte >= memory_ && byte < memory_ + kPage;
}

}  // namespace emulation
