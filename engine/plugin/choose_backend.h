// Chooses the backend of a job from device.backend and this machine, and creates it.
#pragma once

#include <functional>
#include <string>

#include "engine/config/train_config.h"
#include "engine/kernels/kernels.h"

namespace ds {

/// What is known about the accelerator when the backend is chosen.
struct AcceleratorState {
  std::string trouble{};  // first line of the error of opening the plugin; empty: it is open
  int devices = 0;
};

struct BackendChoice {
  std::string backend;   // "cpu" or "cuda"
  std::string reason{};  // why "auto" chose the CPU, for the run's header: "no CUDA device"
};

/// Returns the backend. "auto" is cuda if the plugin opens and finds a device. Pure.
BackendChoice choose_backend(const std::string& wanted, const AcceleratorState& state);
/// Returns the backend for this machine. Opens the plugin only for "auto".
BackendChoice choose_backend(const DeviceConfig& device);

/// Checks a config whose backend is resolved. Errors: Error{config}: keys of another backend.
void check_keys_of_backend(const DeviceConfig& device);

/// Creates the backend that choose_backend() names, on the device of `local_rank` of `local_ranks`.
/// With CUDA, host_kernels are the CPU backend's, by device.threads and device.isa. Errors:
/// Error{config}: CUDA was requested but is not available.
Backend make_backend(const DeviceConfig& device, int local_rank, int local_ranks = 1);

/// Returns the function for the kernels' workspace of `device`'s resolved backend. The device need
/// not exist: a plan can be made on any machine. Errors: as open_cuda_plugin().
std::function<std::size_t(const Kernels::Extents&)> workspace_for(const DeviceConfig& device);

/// Returns what `dsrunner --devices` prints: CPU backend, CUDA plugin, driver, devices, libraries.
std::string device_report();

/// Returns the folder for chosen algorithms: DSLAUNCH_CACHE_DIR (empty: none), else XDG_CACHE_HOME
/// or ~/.cache with /dslaunch. Pure; null: unset.
std::string cache_folder(const char* own, const char* xdg, const char* home);

}  // namespace ds
