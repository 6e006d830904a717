// Options of the rendezvous: where the ranks of a job meet.
#pragma once

#include <span>

#include "launcher/cli/option_table.h"
#include "launcher/hosts/network.h"

namespace ds::launcher {

std::span<const OptionDef<MasterRequest>> master_options();

}  // namespace ds::launcher
