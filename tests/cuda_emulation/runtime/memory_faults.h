// Memory faults of kernels as faults of the device, with the kernel's name, instead of the end of
// the process.
#pragma once

#include <csignal>

namespace emulation {

/// While it lives, a SIGSEGV or SIGBUS of the calling thread ends the kernel through
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
