// Chooses the backend and creates it.
#include "engine/plugin/choose_backend.h"

#include <cstdlib>
#include <memory>

#include "engine/base/error.h"
#include "engine/plugin/plugin.h"

namespace ds {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

AcceleratorState look_for_accelerator() {
  try {
    return {.devices = open_cuda_plugin().device_count()};
  } catch (const Error& error) {
    std::string why = first_line(error.what());
    if (why.ends_with(':')) why.pop_back();  // the error itself lists the reasons
    return {.trouble = std::move(why)};
  }
}

Backend make_cpu(const DeviceConfig& device) {
  return make_cpu_backend({.threads = static_cast<int>(device.threads), .isa = device.isa});
}

}  // namespace

BackendChoice choose_backend(const std::string& wanted, const AcceleratorState& state) {
  if (wanted != "auto") return {.backend = wanted};
  if (!state.trouble.empty()) return {.backend = "cpu", .reason = state.trouble};
  if (state.devices == 0) return {.backend = "cpu", .reason = "no CUDA device"};
  return {.backend = "cuda"};
}

BackendChoice choose_backend(const DeviceConfig& device) {
  const bool is_open = device.backend == "auto";
  return choose_backend(device.backend, is_open ? look_for_accelerator() : AcceleratorState{});
}

void check_keys_of_backend(const DeviceConfig& device) {
  if (device.epilogues == Epilogues::exact || is_accelerator(device)) return;
  throw Error(
      ErrorKind::config,
      fmt::format("device.epilogues = \"fused\" is not available with device.backend = \"{}\"",
                  device.backend),
      "remove it, or use device.backend = \"cuda\" on a machine with a GPU");
}

Backend make_backend(const DeviceConfig& device, int local_rank, int local_ranks) {
  if (choose_backend(device).backend != "cuda") return make_cpu(device);
  const AcceleratorOptions options{
      .local_rank = local_rank,
      .local_ranks = local_ranks,
      .cache_dir = cache_folder(std::getenv("DSLAUNCH_CACHE_DIR"), std::getenv("XDG_CACHE_HOME"),
                                std::getenv("HOME")),
      .fused_epilogues = device.epilogues == Epilogues::fused};
  Backend backend = open_cuda_plugin().make_backend(options);
  Backend host = make_cpu(device);
  backend.host_kernels = std::move(host.kernels);
  backend.host_threads = host.host_threads;
  return backend;
}

std::function<std::size_t(const Kernels::Extents&)> workspace_for(const DeviceConfig& device) {
  if (is_accelerator(device)) return open_cuda_plugin().workspace_bytes;
  const std::shared_ptr<Kernels> kernels = make_cpu(device).kernels;
  return [kernels](const Kernels::Extents& extents) { return kernels->workspace_bytes(extents); };
}

std::string device_report() {
  std::string text = make_cpu(DeviceConfig{}).device->description() + "\n";
  try {
    const std::string report = open_cuda_plugin().report();
    return text + fmt::format("plugin: {}\n", opened_plugin()) + report;
  } catch (const Error& error) {
    return text + error.for_people() + "\n";
  }
}

std::string cache_folder(const char* own, const char* xdg, const char* home) {
  if (own != nullptr) return own;
  if (xdg != nullptr && *xdg == '/') return std::string(xdg) + "/dslaunch";
  if (home != nullptr && *home == '/') return std::string(home) + "/.cache/dslaunch";
  return {};
}

}  // namespace ds
