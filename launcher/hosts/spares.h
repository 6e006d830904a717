// Hosts that are held back to stand in for others. Pure.
#pragma once

#include <vector>

#include "launcher/hosts/placement.h"

namespace ds::launcher {

/// A placement, and the hosts that wait for a node to be lost.
struct PlacedJob {
  Placement placement;
  std::vector<Host> spares;
};

/// Takes the last `count` hosts away from `hosts`.
/// Errors:  Error{config} if none would be left.
std::vector<Host> take_spares(std::vector<Host>& hosts, int count);

/// Errors:  Error{config} naming a spare that has too few slots to stand in for any node.
void check_spares(const Placement& placement, const std::vector<Host>& spares);

}  // namespace ds::launcher
