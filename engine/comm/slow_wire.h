// Collectives over a wire that is slower than the real one: operations sleep first. For
// measurements of what overlap hides, on a machine whose ranks are neighbours.
#pragma once

#include <memory>

#include "engine/comm/collectives.h"
#include "engine/comm/wire_speed.h"

namespace ds {

/// All groups of a process share its wire, which carries both directions at once; using it costs no
/// CPU time.
std::unique_ptr<Collectives> over_slow_wire(std::unique_ptr<Collectives> inner,
                                            const WireSpeed& speed);

}  // namespace ds
