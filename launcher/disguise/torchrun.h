// torchrun: each node has one of its own, and knows its number among them. Pure.
#pragma once

#include "launcher/disguise/disguise.h"

namespace ds::launcher {

/// Options as of PyTorch 1.13 to 2.10, and the variables PET_* that stand for them. The ranks of
/// this node start here, with numbers among all: torchrun's static rendezvous without the
/// rendezvous, as the node's number is known.
Disguised translate_torchrun(std::span<const std::string> words, const Surroundings& around);
std::vector<ForeignOption> torchrun_options();

}  // namespace ds::launcher
