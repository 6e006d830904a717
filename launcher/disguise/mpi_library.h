// Programs that speak MPI need their own launcher: they are known by the libraries that they name.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace ds::launcher {

/// The MPI library that an ELF file of 64 bits names among those it needs: "libmpi.so.40". Nothing
/// for any other file, whatever its bytes. Pure.
std::optional<std::string> mpi_library(std::span<const std::byte> file);

/// The same of a program as exec finds it by its name; nothing if it cannot be read here.
std::optional<std::string> mpi_library_of_program(const std::string& program,
                                                  const std::string& search_path);

}  // namespace ds::launcher
