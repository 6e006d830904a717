// Detection of MPI programs by the libraries in their ELF file.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ds::launcher {

/// Returns the MPI library among the needed libraries of a 64-bit ELF file: "libmpi.so.40". Returns
/// nothing for any other bytes. Pure.
std::optional<std::string> mpi_library(std::span<const std::byte> file);

/// Returns whether an MPI library finds its peers by PMI-1, by the library's name: MPICH, MVAPICH
/// and Intel MPI do (libmpich.so.12, and libmpi.so.12 by the agreement about MPICH's ABI). Pure.
bool speaks_pmi1(std::string_view library);

/// Returns mpi_library() of the program that exec would find by this name. Returns nothing if the
/// program cannot be read.
std::optional<std::string> mpi_library_of_program(const std::string& program,
                                                  const std::string& search_path);

}  // namespace ds::launcher
