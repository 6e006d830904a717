// mpirun and mpiexec of Open MPI, MPICH and Intel MPI: one table for all of them. Pure.
#pragma once

#include "launcher/disguise/disguise.h"

namespace ds::launcher {

/// Ranks get the variables of Open MPI and MPICH beside our own; their lines have no prefix unless
/// one is asked for; rank 0 reads standard input. Hosts that nobody names are found as dslaunch
/// does. ` : ` separates programs.
Disguised translate_mpirun(std::span<const std::string> words, const Surroundings& around);
/// The same with Hydra's habits: all variables travel, and hosts take more ranks than slots.
Disguised translate_hydra(std::span<const std::string> words, const Surroundings& around);
std::vector<ForeignOption> mpirun_options();

}  // namespace ds::launcher
