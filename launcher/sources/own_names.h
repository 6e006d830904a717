// Which hosts of a hostfile are this machine, so that they need no ssh.
#pragma once

#include <string>
#include <vector>

#include "launcher/hosts/hostfile.h"
#include "launcher/sources/world.h"

namespace ds::launcher {

/// What this machine is called and which addresses its interfaces have.
struct OwnNames {
  std::vector<std::string> names;      // host name, also without its domain; lower case
  std::vector<std::string> addresses;  // numeric; POD_IP is one of them
  /// Of a pod: its full name as kubelet writes it into /etc/hosts,
  /// gpt-0.gpt.default.svc.cluster.local. Each beginning of it, from the host name on, is a name
  /// too.
  std::string full_name{};
  /// Of a pod whose full name is not known: whatever begins with the label of its host name is it.
  bool by_label = false;
};
/// Nothing is looked up: in a pod the own name often cannot be. Pure.
OwnNames own_names(const World& world);
OwnNames own_names();

/// `localhost`, own names and own addresses, if neither user nor port is given: who names one of
/// these wants ssh. Other addresses of 127/8 are not this machine's interfaces and go by ssh. Pure.
bool is_own_host(const Host& host, const OwnNames& own);

}  // namespace ds::launcher
