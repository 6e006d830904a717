// open_library(): finds and opens an optional part of the engine that is a library of its own.
#pragma once

#include <string>
#include <vector>

#include "engine/base/error.h"

namespace ds {

struct LibrarySearch {
  std::string name;                // for messages: "the CUDA backend (libdsengine_cuda.so)"
  std::vector<std::string> files;  // in the order in which they are tried
  const char* variable = "";       // of the environment: the path of the one to open instead
  const char* entry = "";          // the function that the library exports
  std::string hint;                // where none can be opened
};

struct OpenedLibrary {
  std::string path;
  void* entry = nullptr;
};

/// Opens the library that the variable names, else the first of `files` that the dynamic loader
/// accepts, in the program's folder or in ../lib. It stays open until the process ends. Errors:
/// Error{config} with the paths tried and the loader's reasons.
OpenedLibrary open_library(const LibrarySearch& search);

/// Checks that a library was built with this program, because they share C++ types. `build`: the
/// library's build_tag(). Errors: Error{config}.
void require_same_build(const std::string& path, const char* build);

}  // namespace ds
