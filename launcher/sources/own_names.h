// Names and addresses of this machine, to find the hosts of a list that need no ssh.
#pragma once

#include <string>
#include <vector>

#include "launcher/hosts/hostfile.h"
#include "launcher/sources/world.h"

namespace ds::launcher {

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
