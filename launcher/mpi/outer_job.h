// Variables by which another launcher tells a process its place in an MPI job. Pure.
#pragma once

#include <string_view>

namespace ds::launcher {

/// Returns whether mpirun, mpiexec, srun or dslaunch sets the variable for the ranks of its job: an
/// MPI library that finds it takes its process for such a rank. Settings of the user, such as
/// OMPI_MCA_btl and PMIX_MCA_gds, are not among them.
/// Source: the environment of ranks of Open MPI 4.1 and 5.0 (mpirun), MPICH 4.0 and Intel MPI 2021
///         (mpiexec.hydra).
bool is_place_in_mpi_job(std::string_view name);

}  // namespace ds::launcher
