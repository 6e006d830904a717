// Fibers for the threads of a block: pooled stacks and a switch of a few instructions. An own
// switch, because all it takes is one function; Boost.Context would be a package that every machine
// that builds the tests needs.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace emulation {

#ifndef __x86_64__
#error "the emulation's context switch is written for x86-64"
#endif

/// Where a suspended fiber goes on. The stack below ends at a page that cannot be touched.
class Fiber {
 public:
  /// `entry` is called on the fiber's own stack at the first switch to it, and must never return.
  Fiber(int number, void (*entry)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  /// Whether `address` is in the page below the stack: it was too small.
  [[nodiscard]] bool overflown_at(const void* address) const;

  void* stack_pointer = nullptr;
  int thread = -1;  // of the block, while it is suspended in it

 private:
  std::byte* memory_;
};

/// Suspends the caller in `*save` and goes on at `load`.
extern "C" void ds_emulation_switch(void** save, void* load);

}  // namespace emulation
