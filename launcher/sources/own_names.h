// Names and addresses of this machine: its host name, the full name of a pod, own hosts of a list.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/hosts/hostfile.h"
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
  /// Returns host.subdomain.namespace.svc.domain.
  [[nodiscard]] std::string full() const { return host + "." + tail(); }
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

/// Names of this machine and addresses of its interfaces.
struct OwnNames {
  std::vector<std::string> names;      // host name, with and without domain; lower case
  std::vector<std::string> addresses;  // numeric; includes POD_IP
  /// Full name of a pod, as kubelet writes it into /etc/hosts: gpt-0.gpt.default.svc.cluster.local.
  /// Each prefix of it that ends at a dot is a name too.
  std::string full_name{};
  /// Set for a pod without a known full name: any name that begins with its host label means it.
  bool by_label = false;
};
/// Return the names without DNS lookups: a pod often cannot resolve its own name. Pure with a
/// World.
OwnNames own_names(const World& world);
OwnNames own_names();

/// Returns whether a host is `localhost`, an own name or an own address, without user or port: a
/// host with user or port is reached by ssh. Other addresses of 127/8 are not own and use ssh too.
/// Pure.
bool is_own_host(const Host& host, const OwnNames& own);

}  // namespace ds::launcher
