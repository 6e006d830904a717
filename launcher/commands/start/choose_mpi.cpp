#include "launcher/commands/start/choose_mpi.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "launcher/disguise/mpi_library.h"

namespace ds::launcher {
namespace {

constexpr const char* kNone = "with --mpi none each rank is a world of its own";

Error refusal(std::string what, const std::string& hint) {
  return {ErrorKind::config, std::move(what), fmt::format("{}; {}", hint, kNone)};
}

std::string linked(const MpiProgram& program) {
  return program.library ? fmt::format("{} is linked with {}", program.name, *program.library)
                         : program.name + " uses MPI by its libraries or by mpi4py";
}

MpiWire wire_of(const MpiProgram& program) {
  if (program.library) return wire_of_library(*program.library);
  return program.is_indirect ? MpiWire::any : MpiWire::none;
}

/// Refuses libraries that would not find their peers by what is offered; PMI-1 and PMIx are.
void refuse_foreign(MpiChoice choice, const std::vector<MpiProgram>& programs) {
  for (const MpiProgram& program : programs) {
    if (!program.library || choice == MpiChoice::pmix) continue;
    if (wire_of(program) == MpiWire::none)
      throw refusal(linked(program) + ", which dslaunch does not know",
                    "run it with the mpirun of that library, or name what the library needs with "
                    "--mpi pmi1 or --mpi pmix");
    if ((choice == MpiChoice::pmi1 || choice == MpiChoice::pmi2) &&
        wire_of(program) == MpiWire::pmix)
      throw refusal(linked(program) + ", which needs PMIx", "use --mpi pmix");
  }
}

/// Returns what the programs' libraries need; they must agree.
MpiWire common_wire(const std::vector<MpiProgram>& programs) {
  auto with = std::ranges::find_if(
      programs, [](const MpiProgram& program) { return program.library.has_value(); });
  if (with == programs.end()) with = std::ranges::find_if(programs, &MpiProgram::is_indirect);
  if (with == programs.end()) return MpiWire::none;
  const MpiWire wire = wire_of(*with);
  for (const MpiProgram& program : programs) {
    if (!program.library && !program.is_indirect)
      throw refusal(fmt::format("{}, but {} with no MPI library", linked(*with), program.name),
                    fmt::format("use --mpi {} if all programs belong to one MPI job",
                                wire == MpiWire::any    ? "any"
                                : wire == MpiWire::pmix ? "pmix"
                                                        : "pmi1"));
    if (program.library && wire_of(program) != wire)
      throw refusal(
          fmt::format("{}, but {}: they cannot be one MPI job", linked(*with), linked(program)),
          "build all programs with one MPI library");
  }
  return wire;
}

MpiWire wanted_wire(MpiChoice choice, const std::vector<MpiProgram>& programs) {
  if (choice == MpiChoice::pmi1 || choice == MpiChoice::pmi2) return MpiWire::pmi1;
  if (choice == MpiChoice::pmix) return MpiWire::pmix;
  // Scripts and libraries of libraries: nobody knows before they run.
  const auto has_none = [](const MpiProgram& program) { return !program.library; };
  if (choice == MpiChoice::any && std::ranges::any_of(programs, has_none)) return MpiWire::any;
  return common_wire(programs);
}

}  // namespace

MpiWire choose_mpi(MpiChoice choice, const std::vector<MpiProgram>& programs,
                   const Placement& placement) {
  if (choice == MpiChoice::none) return MpiWire::none;
  const bool alone = placement.shown_world() == 1;
  if (!alone) refuse_foreign(choice, programs);
  const MpiWire wire = wanted_wire(choice, programs);
  // A rank alone needs no server, which its node might not have.
  if (wire == MpiWire::none || (alone && choice != MpiChoice::pmix && wire != MpiWire::pmi1))
    return MpiWire::none;
  const bool shares_world = placement.shown_world() != placement.world_size();  // --part
  // A training script may import mpi4py beside what it needs, as a program may be linked.
  if (shares_world && choice == MpiChoice::automatic && wire == MpiWire::any) return MpiWire::none;
  if (shares_world)
    throw refusal("ranks of an MPI job cannot be started by several launchers",
                  "start all nodes with one dslaunch and a hostfile, without --part");
  return wire;
}

}  // namespace ds::launcher
