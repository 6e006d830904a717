// Decides what the MPI libraries of a job's ranks are offered. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/options.h"
#include "launcher/hosts/placement.h"
#include "launcher/wire/messages.h"

namespace ds::launcher {

/// A program of the job, and how it was seen to use MPI.
struct MpiProgram {
  std::string name{};
  std::optional<std::string> library{};  // that its ELF file names
  bool is_indirect = false;  // by its own libraries, or by Python code: any MPI library
};

/// Returns what the ranks get. A job of one rank needs no launcher, so any library is accepted.
/// Errors:  Error{config}: a library that is not known, programs with different libraries or only
///          some with one, or ranks that other launchers start (--part): each rank would be a world
///          of its own.
MpiWire choose_mpi(MpiChoice choice, const std::vector<MpiProgram>& programs,
                   const Placement& placement);

}  // namespace ds::launcher
