// Full name of a pod, from the /etc/hosts that kubelet writes. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launcher/sources/world.h"

namespace ds::launcher {

/// Parts of gpt-0.gpt.default.svc.cluster.local.
struct PodName {
  std::string host;
  std::string subdomain;
  std::string space;   // namespace
  std::string domain;  // domain of the cluster
  /// Returns subdomain.namespace.svc.domain.
  [[nodiscard]] std::string tail() const;
  friend bool operator==(const PodName&, const PodName&) = default;
};

/// Returns the first label of a name; a numeric address is returned whole.
std::string_view first_label(std::string_view name);

/// Reads the line `<ip> <host>.<subdomain>.<namespace>.svc.<domain> <host>` with the own host name.
/// A pod without a subdomain has no such line.
std::optional<PodName> find_pod_name(const World& world);

/// Returns whether kubelet wrote this /etc/hosts, or the environment is that of a pod.
bool is_pod(const World& world);

/// Returns the name for comparison: lower case, without a final dot.
std::string name_as_compared(std::string_view name);

/// Returns whether `text` is an IPv4 or IPv6 address.
bool is_address(const std::string& text);

}  // namespace ds::launcher
