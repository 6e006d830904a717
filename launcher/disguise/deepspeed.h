// deepspeed: DeepSpeed's launcher. Pure.
#pragma once

#include "launcher/disguise/disguise.h"

namespace ds::launcher {

/// Options as of DeepSpeed 0.5 to 0.18. Scripts get `--local_rank=N` unless --no_local_rank.
Disguised translate_deepspeed(std::span<const std::string> words, const Surroundings& around);
std::vector<ForeignOption> deepspeed_options();

}  // namespace ds::launcher
