// Disguises `mpirun` and `mpiexec` of Open MPI, MPICH and Intel MPI, with one common table. Pure.
#pragma once

#include "launcher/disguise/disguise.h"

namespace ds::launcher {

/// Translates mpirun's words. Ranks get the variables of Open MPI and MPICH beside dslaunch's own;
/// lines have no prefix by default; rank 0 reads standard input. Without named hosts, dslaunch
/// finds them. ` : ` separates programs.
Disguised translate_mpirun(std::span<const std::string> words, const Surroundings& around);
/// Does the same with Hydra's defaults: all variables are forwarded, and hosts take more ranks than
/// slots.
Disguised translate_hydra(std::span<const std::string> words, const Surroundings& around);
std::vector<ForeignOption> mpirun_options();

}  // namespace ds::launcher
