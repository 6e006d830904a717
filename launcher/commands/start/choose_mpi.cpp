#include "launcher/commands/start/choose_mpi.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "launcher/disguise/mpi_library.h"

namespace ds::launcher {
namespace {

constexpr const char* kNone = "; with --mpi none each rank is a world of its own";

/// Refuses libraries of Open MPI and others, which would ignore PMI-1.
void refuse_foreign(const std::vector<MpiProgram>& programs) {
  for (const MpiProgram& program : programs)
    if (program.library && !speaks_pmi1(*program.library))
      throw Error(ErrorKind::config,
                  fmt::format("{} is linked with {}, which needs PMIx; dslaunch offers PMI-1",
                              program.name, *program.library),
                  fmt::format("run it with the mpirun of that library, or build it with MPICH, "
                              "MVAPICH or Intel MPI{}",
                              kNone));
}

}  // namespace

MpiWire choose_mpi(MpiChoice choice, const std::vector<MpiProgram>& programs,
                   const Placement& placement) {
  if (choice == MpiChoice::none) return MpiWire::none;
  const bool alone = placement.shown_world() == 1;
  if (!alone) refuse_foreign(programs);
  const auto has = [](const MpiProgram& program) {
    return program.library && speaks_pmi1(*program.library);
  };
  const auto with = std::ranges::find_if(programs, has);
  if (choice == MpiChoice::automatic && with == programs.end()) return MpiWire::none;
  const auto without = std::ranges::find_if_not(programs, has);
  if (choice == MpiChoice::automatic && without != programs.end())
    throw Error(ErrorKind::config,
                fmt::format("{} is linked with {}, but {} with no MPI library", with->name,
                            *with->library, without->name),
                fmt::format("use --mpi pmi1 if all programs belong to one MPI job{}", kNone));
  if (placement.shown_world() != placement.world_size())
    throw Error(
        ErrorKind::config, "ranks of an MPI job cannot be started by several launchers",
        fmt::format("start all nodes with one dslaunch and a hostfile, without --part{}", kNone));
  return MpiWire::pmi1;
}

}  // namespace ds::launcher
