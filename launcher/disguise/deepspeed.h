// Disguise `deepspeed`: translates the command line of DeepSpeed's launcher. Pure.
#pragma once

#include "launcher/disguise/disguise.h"

namespace ds::launcher {

/// Translates the options of DeepSpeed 0.5 to 0.18. Scripts get `--local_rank=N` unless
/// --no_local_rank is given.
Disguised translate_deepspeed(std::span<const std::string> words, const Surroundings& around);
std::vector<ForeignOption> deepspeed_options();

}  // namespace ds::launcher
