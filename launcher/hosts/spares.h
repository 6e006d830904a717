// Spares: hosts that are kept in reserve to replace other hosts. Pure.
#pragma once

#include <vector>

#include "launcher/hosts/placement.h"

namespace ds::launcher {

/// Placement, and the spare hosts.
struct PlacedJob {
  Placement placement;
  std::vector<Host> spares;
};

/// Removes the last `count` hosts from `hosts` and returns them.
/// Errors:  Error{config} if no host would be left.
std::vector<Host> take_spares(std::vector<Host>& hosts, int count);

/// Errors:  Error{config} naming a spare with too few slots for any node.
void check_spares(const Placement& placement, const std::vector<Host>& spares);

}  // namespace ds::launcher
