// Detection of MPI programs by the libraries that their ELF file needs, and those that these need.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "launcher/wire/messages.h"

namespace ds::launcher {

/// Returns the MPI library among the needed libraries of a 64-bit ELF file: "libmpi.so.40". Returns
/// nothing for any other bytes. Pure.
std::optional<std::string> mpi_library(std::span<const std::byte> file);

/// Returns how an MPI library finds its peers, by the library's name: by PMI-1 those of MPICH,
/// MVAPICH and Intel MPI (libmpich.so.12, and libmpi.so.12 by the agreement about MPICH's ABI), by
/// PMIx those of Open MPI 3 and later (libmpi.so.40). Returns none for others. Pure.
MpiWire wire_of_library(std::string_view library);

struct MpiUse {
  std::optional<std::string> library{};  // mpi_library()
  bool is_indirect = false;              // only libraries that it needs use MPI
};

/// Returns how the program that exec would find by this name uses MPI: not at all if it cannot be
/// read. Libraries are looked up in the folders that the files name, in `library_path`
/// (LD_LIBRARY_PATH), and in the usual folders.
MpiUse mpi_use_of_program(const std::string& program, const std::string& search_path,
                          const std::string& library_path);

}  // namespace ds::launcher
