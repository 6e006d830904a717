// The three system calls of io_uring behind function pointers, so that tests can refuse each one.
#pragma once

#include <linux/io_uring.h>

#include <cstddef>

namespace ds {

/// Each returns the result of the system call: a number, or -1 with errno.
struct UringCalls {
  int (*setup)(unsigned entries, io_uring_params* params);
  int (*enter)(int ring, unsigned submit, unsigned complete, unsigned flags, const void* argument,
               std::size_t size);
  int (*enroll)(int ring, unsigned what, const void* argument,
                unsigned count);  // io_uring_register
};

/// Returns the real system calls.
const UringCalls& kernel_uring_calls();

}  // namespace ds
