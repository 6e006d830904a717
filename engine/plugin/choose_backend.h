// Which backend a job runs on: device.backend, what is there, and why.
#pragma once

#include <functional>
#include <string>

#include "engine/config/train_config.h"
#include "engine/kernels/kernels.h"

namespace ds {

/// What is known of the accelerator when the choice is made.
struct AcceleratorState {
  std::string trouble{};  // the plugin cannot be opened: the error's first line; empty: it is open
  int devices = 0;
};

struct BackendChoice {
  std::string backend;   // "cpu" or "cuda"
  std::string reason{};  // of "auto" for the CPU, for the run's header: "no CUDA device"
};

/// Pure. "auto" is cuda where the plugin is there and sees a device.
BackendChoice choose_backend(const std::string& wanted, const AcceleratorState& state);
/// The same of this machine; opens the plugin for "auto" alone.
BackendChoice choose_backend(const DeviceConfig& device);

/// Of a config whose backend is resolved. Errors: Error{config}: keys of another backend.
void check_keys_of_backend(const DeviceConfig& device);

/// The backend that choose_backend() names, on the device of `local_rank` of `local_ranks`. With
/// CUDA, host_kernels are the CPU backend's, by device.threads and device.isa. Errors:
/// Error{config}: CUDA was asked for, and cannot be had.
Backend make_backend(const DeviceConfig& device, int local_rank, int local_ranks = 1);

/// Workspace of the kernels of `device`'s resolved backend, which need not be there: a plan is made
/// on any machine. Errors: as open_cuda_plugin().
std::function<std::size_t(const Kernels::Extents&)> workspace_for(const DeviceConfig& device);

/// What `dsrunner --devices` prints: the CPU backend, the CUDA plugin, driver, devices, libraries.
std::string device_report();

/// Where chosen algorithms are kept: DSLAUNCH_CACHE_DIR (empty: nowhere), else XDG_CACHE_HOME or
/// ~/.cache with /dslaunch. Pure; null: unset.
std::string cache_folder(const char* own, const char* xdg, const char* home);

}  // namespace ds
