// Where NVIDIA's libraries may lie: toolkit trees, Debian's folders, NVIDIA's Python wheels. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ds::cuda {

/// One library that is opened at run time.
struct LibraryName {
  const char* title;     // for people
  const char* soname;    // "libcudnn.so.9"
  const char* variable;  // names the file, or the folder that it lies in
  const char* wheel;     // its folder below site-packages/nvidia, beside cu13
  const char* package;   // how it is installed, for people
  int least;             // the least version that will do
};
extern const LibraryName kCublasLt, kCudnn, kNccl, kNvrtc;

/// What of the machine is looked at.
struct Surroundings {
  std::function<std::string(const char* name)> variable;                // "" when unset
  std::function<std::vector<std::string>(const std::string&)> entries;  // names in a folder, sorted
  std::function<bool(const std::string& path)> exists;
  std::function<std::string(const std::string& path)> real_path;  // "" when there is none
};
Surroundings this_machine();

struct Places {
  std::vector<std::string> files;   // those that are there, best first; the plain soname is last
  std::vector<std::string> looked;  // every folder that was looked in
};

/// The variable's file or folder alone when it is set; else, in this order: CUDA_HOME, CUDA_PATH,
/// /usr/local/cuda*, Debian's folders, the wheels of every Python that can be seen without running
/// one, what the dynamic loader finds.
Places places_of(const LibraryName& library, const Surroundings& here);

/// The folders called site-packages and dist-packages: of VIRTUAL_ENV, CONDA_PREFIX, PYTHONPATH,
/// python3 on PATH, the home folder, /usr, /usr/local and /opt.
std::vector<std::string> python_package_folders(const Surroundings& here);

/// 2.28.9 from 22809, which is how all of them count.
std::string library_version_text(int version);

}  // namespace ds::cuda
