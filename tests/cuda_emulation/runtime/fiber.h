// Fiber: the threads of a block, with pooled stacks and a switch of a few instructions. The switch
// is our own because it is only one function; Boost.Context would be a package that every machine
// that builds the tests needs.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace emulation {

#ifndef __x86_64__
#error "the emulation's context switch is written for x86-64"
#endif

/// A suspended stack. An inaccessible page lies below it.
class Fiber {
 public:
  /// The first switch to the fiber calls `entry` on its own stack. `entry` must never return.
  Fiber(int number, void (*entry)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  /// Returns whether `address` is in the page below the stack, so the stack was too small.
  [[nodiscard]] bool overflown_at(const void* address) const;

  void* stack_pointer = nullptr;
  int thread = -1;  // of the block, while suspended in it

 private:
  std::byte* memory_;
};

/// Suspends the caller in `*save` and continues at `load`. Inlined without call or return, so that
/// the processor's prediction of return addresses stays correct: all fibers of a block are at about
/// the same place.
inline __attribute__((always_inline)) void switch_fibers(void** save, void* load) {
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\t"  // the red zone below the stack pointer may be in use
      "pushq %%rbp\n\t"
      "leaq 1f(%%rip), %%rcx\n\t"
      "pushq %%rcx\n\t"
      "movq %%rsp, (%%rdi)\n\t"
      "movq %%rsi, %%rsp\n\t"
      "popq %%rcx\n\t"
      "jmpq *%%rcx\n"
      "1:\n\t"
      "popq %%rbp\n\t"
      "leaq 128(%%rsp), %%rsp"
      : "+D"(save), "+S"(load)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
        "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
}

}  // namespace emulation
