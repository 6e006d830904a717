// The first process of a PID namespace: mounts /proc, reaps, and kills all others when told to.
#pragma once

#include <sys/types.h>

namespace ds::launcher {

inline constexpr const char* kInitName = "dsinit";

enum class InitOrder { clear };
struct InitAnswer {
  int error_number = 0;  // 0: done
};

/// Called after fork, all signals blocked. Answers on `control` (SOCK_SEQPACKET) once when it is
/// ready and once to each order. Dies with its parent, by SIGKILL, whatever that dies of.
/// `agent` is the parent's pid where it lives.
int run_namespace_init(int control, pid_t agent);

}  // namespace ds::launcher
