// Candidate files of NVIDIA's libraries: toolkits, Debian's folders, NVIDIA's Python wheels. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ds::cuda {

/// One library that is opened at run time.
struct LibraryName {
  const char* title;     // for people
  const char* soname;    // "libcudnn.so.9"
  const char* variable;  // variable with the path of the file or its folder
  const char* wheel;     // its folder below site-packages/nvidia, beside cu13
  const char* package;   // package that installs it, for people
  int least;             // minimum version
};
struct LibraryNames {
  LibraryName cublas_lt, cudnn, nccl, nvrtc;
};
/// Returns the libraries that a program built with CUDA 12 or 13 needs.
LibraryNames library_names(int cuda_major);

/// Access to the machine: variables, folders, links.
struct Surroundings {
  std::function<std::string(const char* name)> variable;                // "" if unset
  std::function<std::vector<std::string>(const std::string&)> entries;  // names in a folder, sorted
  std::function<bool(const std::string& path)> exists;
  std::function<std::string(const std::string& path)> real_path;  // "" if it does not exist
};
Surroundings this_machine();

struct Places {
  std::vector<std::string> files;   // existing files, best first; the plain soname is last
  std::vector<std::string> looked;  // every folder that was searched
};

/// Returns the candidates of a library. If its variable is set, only that file or folder counts.
/// Otherwise, in this order: CUDA_HOME, CUDA_PATH, /usr/local/cuda*, Debian's folders, the wheels
/// of every Python that can be found without running one, and the dynamic loader's search.
Places places_of(const LibraryName& library, const Surroundings& here);

/// Returns the site-packages and dist-packages folders of VIRTUAL_ENV, CONDA_PREFIX, PYTHONPATH,
/// python3 on PATH, the home folder, /usr, /usr/local and /opt.
std::vector<std::string> python_package_folders(const Surroundings& here);

/// Returns "2.28.9" for 22809; all these libraries count this way.
std::string library_version_text(int version);

}  // namespace ds::cuda
