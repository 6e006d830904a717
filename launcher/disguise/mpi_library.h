// Detection of MPI programs, which need their own launcher, by the libraries in their ELF file.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace ds::launcher {

/// Returns the MPI library among the needed libraries of a 64-bit ELF file: "libmpi.so.40". Returns
/// nothing for any other bytes. Pure.
std::optional<std::string> mpi_library(std::span<const std::byte> file);

/// Returns mpi_library() of the program that exec would find by this name. Returns nothing if the
/// program cannot be read.
std::optional<std::string> mpi_library_of_program(const std::string& program,
                                                  const std::string& search_path);

}  // namespace ds::launcher
