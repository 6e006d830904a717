// Parsers for the output of nvidia-smi and the driver's version file. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/doctor/facts.h"

namespace ds::launcher::doctor {

inline constexpr const char* kGpuQuery = "--query-gpu=index,uuid,memory.total,name";
inline constexpr const char* kProcessQuery = "--query-compute-apps=gpu_uuid,pid,used_memory,name";

/// Parses the output of nvidia-smi for these queries with --format=csv,noheader,nounits. Lines of
/// another form are skipped.
std::vector<Gpu> parse_gpus(std::string_view text);
/// Does the same for processes; `gpus` maps a uuid to an index.
std::vector<GpuProcess> parse_gpu_processes(std::string_view text, const std::vector<Gpu>& gpus);

/// Returns "535.104.05" from /proc/driver/nvidia/version; empty if there is no version.
std::string parse_driver_version(std::string_view text);

}  // namespace ds::launcher::doctor
