// Amounts as people read them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "launcher/doctor/facts.h"

namespace ds::launcher::doctor {

/// "503 GiB", "1.5 TiB", "64 MiB".
std::string bytes_text(std::uint64_t bytes);
/// "unlimited", "1048576", or with `bytes` "8 MiB".
std::string limit_text(std::uint64_t limit, bool bytes);
/// "1.5 s", "3 min" of milliseconds.
std::string seconds_text(std::int64_t milliseconds);
/// "1 GPU", "2 GPUs".
std::string counted(int count, std::string_view noun);
/// "64", or "8 of 64" under a quota.
std::string cores_text(const Facts& facts);
/// "8 NVIDIA H100 80GB HBM3", "none", "4" if only the files are seen.
std::string gpus_text(const Facts& facts);

}  // namespace ds::launcher::doctor
