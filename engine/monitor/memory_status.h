// Memory of this process as the kernel reports it. Allocates nothing, so that it can run inside a
// measured step.
#pragma once

#include <cstdint>
#include <string_view>

namespace ds {

struct MemoryStatus {
  std::int64_t anonymous_bytes = 0;  // RssAnon: resident now, without mapped files
  std::int64_t resident_bytes = 0;   // VmRSS
  std::int64_t peak_bytes = 0;       // VmHWM: the maximum that was ever resident
};

/// Returns the figures of this process. Errors: Error{system} when /proc cannot be read.
MemoryStatus read_memory_status();

/// Parses the text of /proc/PID/status; missing fields stay 0.
MemoryStatus parse_memory_status(std::string_view status);

}  // namespace ds
