// What the kernel says about this process's memory. Allocates nothing, so a measured step stays a
// measured step.
#pragma once

#include <cstdint>
#include <string_view>

namespace ds {

struct MemoryStatus {
  std::int64_t anonymous_bytes = 0;  // RssAnon: resident now, without mapped files.
  std::int64_t resident_bytes = 0;   // VmRSS.
  std::int64_t peak_bytes = 0;       // VmHWM: the most that was ever resident.
};

/// Of this process. Errors: Error{system} when /proc is not there.
MemoryStatus read_memory_status();

/// The same from the text of /proc/PID/status; fields that are missing stay 0.
MemoryStatus parse_memory_status(std::string_view status);

}  // namespace ds
