// MemoryFaults: turns memory faults of kernels into device faults with the kernel's name, instead
// of ending the process.
#pragma once

#include <csignal>

namespace emulation {

/// During its lifetime, a SIGSEGV or SIGBUS of the calling thread ends the kernel through
/// kernel_fault().
class MemoryFaults {
 public:
  MemoryFaults();
  ~MemoryFaults();
  MemoryFaults(const MemoryFaults&) = delete;
  MemoryFaults& operator=(const MemoryFaults&) = delete;

 private:
  struct sigaction segv_before_ {
  }, bus_before_{};
};

}  // namespace emulation
