// Maps each slot to the name of one device.
#include "launcher/job/device_env.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "engine/base/contract.h"

namespace ds::launcher {

namespace {

std::string device_name(const Hello& hello, int slot) {
  const auto index = static_cast<std::size_t>(slot);
  return hello.devices_limited && index < hello.devices.size() ? hello.devices[index]
                                                               : std::to_string(slot);
}

/// Returns whether the node hides all devices; they stay hidden.
bool hides_devices(const Hello& hello) { return hello.devices_limited && hello.devices.empty(); }

}  // namespace

EnvList device_env(const Host& host, const Hello& hello) {
  if (host.devices.empty() || hides_devices(hello)) return {};
  std::string list;
  for (const int slot : host.devices) list += (list.empty() ? "" : ",") + device_name(hello, slot);
  return {{contract::kCudaVisibleDevices, list}};
}

EnvList own_device_env(const Host& host, int local_rank, const Hello& hello) {
  if (hides_devices(hello)) return {};
  const auto index = static_cast<std::size_t>(local_rank);
  const int slot = host.devices.empty() ? local_rank % std::max(host.slots, 1)
                                        : host.devices[index % host.devices.size()];
  return {{contract::kCudaVisibleDevices, device_name(hello, slot)}};
}

std::string device_of_rank(const Host& host, int local_rank, bool own, const EnvList& given,
                           const Hello& hello) {
  if (hello.devices.empty()) return {};
  std::string list;
  for (const auto& [name, value] :
       own ? own_device_env(host, local_rank, hello) : device_env(host, hello))
    list = value;
  for (const auto& [name, value] : given)
    if (name == contract::kCudaVisibleDevices) list = value, own = false;
  if (list.empty()) {
    const auto index = static_cast<std::size_t>(local_rank);
    return index < hello.devices.size() ? device_name(hello, local_rank) : "";
  }
  std::size_t at = 0;
  for (int skip = own ? 0 : local_rank; skip > 0; --skip) {
    at = list.find(',', at);
    if (at == std::string::npos) return {};
    ++at;
  }
  return list.substr(at, list.find(',', at) - at);
}

std::string device_problem(const Host& host, bool own, const Hello& hello) {
  if (!hello.devices_limited || hello.devices.empty()) return {};
  int highest = own ? host.slots - 1 : -1;
  if (!host.devices.empty()) highest = *std::max_element(host.devices.begin(), host.devices.end());
  if (highest < static_cast<int>(hello.devices.size())) return {};
  return fmt::format(
      "{}: slot {} is chosen, but CUDA_VISIBLE_DEVICES there lists {} device{} (slot 0 is its "
      "first)",
      host.name, highest, hello.devices.size(), hello.devices.size() == 1 ? "" : "s");
}

}  // namespace ds::launcher
