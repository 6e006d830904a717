#include "launcher/doctor/gpu_text.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "engine/base/split.h"

namespace ds::launcher::doctor {
namespace {

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r"), text.size()));
  return text.substr(0, text.find_last_not_of(" \t\r") + 1);
}

/// Returns the four fields of a line, or nothing.
std::optional<std::vector<std::string_view>> four_fields(std::string_view line) {
  std::vector<std::string_view> fields;
  while (fields.size() < 3) {
    const std::size_t comma = line.find(',');
    if (comma == std::string_view::npos) return std::nullopt;
    fields.push_back(trimmed(line.substr(0, comma)));
    line.remove_prefix(comma + 1);
  }
  fields.push_back(trimmed(line));
  return fields;
}

template <class T>
bool read(std::string_view text, T& value) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size();
}

}  // namespace

std::vector<Gpu> parse_gpus(std::string_view text) {
  std::vector<Gpu> gpus;
  while (!text.empty()) {
    const auto fields = four_fields(take_line(text));
    Gpu gpu;
    if (!fields || !read((*fields)[0], gpu.index)) continue;
    gpu.uuid = (*fields)[1];
    read((*fields)[2], gpu.memory_mib);
    gpu.name = (*fields)[3];
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

std::vector<GpuProcess> parse_gpu_processes(std::string_view text, const std::vector<Gpu>& gpus) {
  std::vector<GpuProcess> processes;
  while (!text.empty()) {
    const auto fields = four_fields(take_line(text));
    GpuProcess process;
    if (!fields || !read((*fields)[1], process.pid)) continue;
    const auto gpu = std::ranges::find(gpus, fields->front(), &Gpu::uuid);
    if (gpu != gpus.end()) process.gpu = gpu->index;
    read((*fields)[2], process.memory_mib);
    process.name = (*fields)[3];
    processes.push_back(std::move(process));
  }
  return processes;
}

std::string parse_driver_version(std::string_view text) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug ..."
  for (const std::string_view word : split(take_line(text), ' '))
    if (word.find('.') != word.npos && word.find_first_not_of("0123456789.") == word.npos)
      return std::string(word);
  return {};
}

}  // namespace ds::launcher::doctor
