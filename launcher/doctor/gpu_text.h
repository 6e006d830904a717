// What nvidia-smi and the driver print -> facts. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/doctor/facts.h"

namespace ds::launcher::doctor {

inline constexpr const char* kGpuQuery = "--query-gpu=index,uuid,memory.total,name";
inline constexpr const char* kProcessQuery = "--query-compute-apps=gpu_uuid,pid,used_memory,name";

/// The lines of nvidia-smi with these queries and --format=csv,noheader,nounits; lines of another
/// form are passed over.
std::vector<Gpu> parse_gpus(std::string_view text);
/// `gpus` tell the index of a uuid.
std::vector<GpuProcess> parse_gpu_processes(std::string_view text, const std::vector<Gpu>& gpus);

/// "535.104.05" of /proc/driver/nvidia/version; empty if it is not there.
std::string parse_driver_version(std::string_view text);

}  // namespace ds::launcher::doctor
