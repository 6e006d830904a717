// Collectives over a wire slower than the real one: operations sleep first. For measuring what
// overlap hides when all ranks run on one machine.
#pragma once

#include <memory>

#include "engine/comm/collectives.h"
#include "engine/comm/wire_speed.h"

namespace ds {

/// Wraps collectives. All groups of a process share its wire, which carries both directions at once
/// and uses no CPU time.
std::unique_ptr<Collectives> over_slow_wire(std::unique_ptr<Collectives> inner,
                                            const WireSpeed& speed);

}  // namespace ds
