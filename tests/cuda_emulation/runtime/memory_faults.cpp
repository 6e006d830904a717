// MemoryFaults: the signal handler makes the thread continue in kernel_fault() on a reserved stack.
#include "memory_faults.h"

#include <pthread.h>
#include <ucontext.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "block_scheduler.h"

namespace emulation {
namespace {

constexpr std::size_t kStack = 64 << 10;

pthread_t kernel_thread;
bool in_kernel = false;
const void* address = nullptr;
alignas(16) std::array<std::byte, kStack> emergency_stack;

void end_kernel() {
  const bool overflow = block().overflown_at(address);
  char text[96];
  std::snprintf(text, sizeof(text), "%s at address %p",
                overflow ? "stack overflow" : "access to unmapped memory", address);
  kernel_fault(text);
}

void on_signal(int, siginfo_t* info, void* context) {
  if (!in_kernel || pthread_equal(pthread_self(), kernel_thread) == 0) {
    // Not ours: the default action follows when the instruction is retried.
    std::signal(SIGSEGV, SIG_DFL);
    std::signal(SIGBUS, SIG_DFL);
    return;
  }
  address = info->si_addr;
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  std::byte* const top = emergency_stack.data() + kStack;
  registers[REG_RSP] = static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(top - 8));
  registers[REG_RIP] = static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(&end_kernel));
}

/// The handler's stack, because the fiber's own may have overflowed.
class AlternateStack {
 public:
  AlternateStack() : memory_(kStack) {
    stack_t stack{};
    stack.ss_sp = memory_.data();
    stack.ss_size = memory_.size();
    sigaltstack(&stack, nullptr);
  }
  ~AlternateStack() {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  std::vector<std::byte> memory_;
};

}  // namespace

#ifdef __SANITIZE_ADDRESS__  // AddressSanitizer reports them
MemoryFaults::MemoryFaults() = default;
MemoryFaults::~MemoryFaults() = default;
#else
MemoryFaults::MemoryFaults() {
  thread_local const AlternateStack stack;
  kernel_thread = pthread_self();
  struct sigaction action {};
  action.sa_sigaction = &on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &segv_before_);
  sigaction(SIGBUS, &action, &bus_before_);
  in_kernel = true;
}

MemoryFaults::~MemoryFaults() {
  in_kernel = false;
  sigaction(SIGSEGV, &segv_before_, nullptr);
  sigaction(SIGBUS, &bus_before_, nullptr);
}
#endif

}  // namespace emulation
