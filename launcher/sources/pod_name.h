// What kubelet writes about a pod into its /etc/hosts -> the pod's full name. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launcher/sources/world.h"

namespace ds::launcher {

/// gpt-0.gpt.default.svc.cluster.local in its parts.
struct PodName {
  std::string host;
  std::string subdomain;
  std::string space;   // the namespace
  std::string domain;  // of the cluster
  /// subdomain.namespace.svc.domain
  [[nodiscard]] std::string tail() const;
  friend bool operator==(const PodName&, const PodName&) = default;
};

/// The first label of a name, or all of an address.
std::string_view first_label(std::string_view name);

/// From a line `<ip> <host>.<subdomain>.<namespace>.svc.<domain> <host>`, where host is the own
/// host name. A pod without a subdomain has no such line.
std::optional<PodName> find_pod_name(const World& world);

/// Whether kubelet wrote this pod's /etc/hosts, or its environment shows a pod.
bool is_pod(const World& world);

/// Lower case, without a dot at the end.
std::string name_as_compared(std::string_view name);

/// An IPv4 or IPv6 address.
bool is_address(const std::string& text);

}  // namespace ds::launcher
