// Disguise `torchrun`: one launcher on each node, which knows its node rank. Pure.
#pragma once

#include "launcher/disguise/disguise.h"

namespace ds::launcher {

/// Translates the options of PyTorch 1.13 to 2.10 and the variables PET_* that replace them. The
/// ranks of this node start here, numbered within the whole job. This is torchrun's static
/// rendezvous; no rendezvous is needed because the node rank is known.
Disguised translate_torchrun(std::span<const std::string> words, const Surroundings& around);
std::vector<ForeignOption> torchrun_options();

}  // namespace ds::launcher
