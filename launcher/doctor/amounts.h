// Formatting of amounts (bytes, limits, times) for the doctor's report. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "launcher/doctor/facts.h"

namespace ds::launcher::doctor {

/// Formats bytes with a binary unit: "503 GiB", "1.5 TiB", "64 MiB".
std::string bytes_text(std::uint64_t bytes);
/// Formats a limit: "unlimited", "1048576", or with `bytes` "8 MiB".
std::string limit_text(std::uint64_t limit, bool bytes);
/// Formats milliseconds: "1.5 s", "3 min", "1.2 h".
std::string seconds_text(std::int64_t milliseconds);
/// Formats the number of cores: "64", or "8 of 64" under a cgroup quota.
std::string cores_text(const Facts& facts);
/// Formats the GPUs: "8 NVIDIA H100 80GB HBM3", "none", or "4" if only the device files are known.
std::string gpus_text(const Facts& facts);

}  // namespace ds::launcher::doctor
