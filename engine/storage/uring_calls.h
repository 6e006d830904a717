// The three system calls of io_uring, replaceable: tests forbid them one by one.
#pragma once

#include <linux/io_uring.h>

#include <cstddef>

namespace ds {

/// Each returns what the system call returns: -1 and errno, or a number.
struct UringCalls {
  int (*setup)(unsigned entries, io_uring_params* params);
  int (*enter)(int ring, unsigned submit, unsigned complete, unsigned flags, const void* argument,
               std::size_t size);
  int (*enroll)(int ring, unsigned what, const void* argument, unsigned count);  // register
};

/// The kernel's own.
const UringCalls& kernel_uring_calls();

}  // namespace ds
