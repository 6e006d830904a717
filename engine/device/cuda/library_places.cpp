// Builds the ordered lists of folders to search, and finds the files in them.
#include "engine/device/cuda/library_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

namespace ds::cuda {
namespace {

namespace fs = std::filesystem;

/// Adds a value unless the list contains it.
void add(std::vector<std::string>& list, std::string value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(std::move(value));
}

std::vector<std::string> split_path(const std::string& value) {
  std::vector<std::string> parts;
  std::istringstream text(value);
  for (std::string part; std::getline(text, part, ':');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

void add_toolkit(std::vector<std::string>& folders, const std::string& root) {
  add(folders, root + "/lib64");
  add(folders, root + "/targets/x86_64-linux/lib");
}

std::vector<std::string> toolkit_folders(const Surroundings& here) {
  std::vector<std::string> folders;
  for (const char* const name : {"CUDA_HOME", "CUDA_PATH"}) {
    const std::string root = here.variable(name);
    if (!root.empty()) add_toolkit(folders, root);
  }
  add_toolkit(folders, "/usr/local/cuda");
  std::vector<std::string> versions = here.entries("/usr/local");
  std::reverse(versions.begin(), versions.end());  // newest first
  for (const std::string& version : versions) {
    if (version.starts_with("cuda-")) add_toolkit(folders, "/usr/local/" + version);
  }
  return folders;
}

/// Adds lib/python3.X/site-packages of one installation, or Debian's name for it.
void add_packages_of(std::vector<std::string>& folders, const std::string& root,
                     const Surroundings& here) {
  for (const char* const lib : {"/lib", "/lib64"}) {
    std::vector<std::string> versions = here.entries(root + lib);
    std::reverse(versions.begin(), versions.end());
    for (const std::string& version : versions) {
      if (!version.starts_with("python3")) continue;
      for (const char* const kind : {"/site-packages", "/dist-packages"}) {
        const std::string folder = fmt::format("{}{}/{}{}", root, lib, version, kind);
        if (here.exists(folder)) add(folders, folder);
      }
    }
  }
}

/// Returns roots of Python installations: those in variables, python3's on PATH, and the usual
/// ones.
std::vector<std::string> python_roots(const Surroundings& here) {
  std::vector<std::string> roots;
  for (const char* const name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string root = here.variable(name); !root.empty()) add(roots, root);
  }
  for (const std::string& folder : split_path(here.variable("PATH"))) {
    const std::string program = folder + "/python3";
    if (!here.exists(program)) continue;
    add(roots, parent_of(folder));
    // A virtual environment's python3 is a link into the installation that it was made from.
    if (const std::string real = here.real_path(program); !real.empty())
      add(roots, parent_of(parent_of(real)));
  }
  if (const std::string home = here.variable("HOME"); !home.empty()) {
    add(roots, home + "/.local");
    for (const std::string& version : here.entries(home + "/.pyenv/versions"))
      add(roots, home + "/.pyenv/versions/" + version);
    for (const char* const name : {"/miniconda3", "/anaconda3", "/miniforge3"})
      add(roots, home + name);
  }
  for (const char* const root : {"/usr/local", "/usr"}) add(roots, root);
  for (const std::string& name : here.entries("/opt")) add(roots, "/opt/" + name);
  return roots;
}

std::vector<std::string> wheel_folders(const LibraryName& library, const Surroundings& here) {
  std::vector<std::string> folders;
  for (const std::string& packages : python_package_folders(here)) {
    add(folders, packages + "/nvidia/cu13/lib");
    add(folders, fmt::format("{}/nvidia/{}/lib", packages, library.wheel));
    add(folders, packages + "/torch/lib");
  }
  return folders;
}

}  // namespace

LibraryNames library_names(int cuda_major) {
  const bool is_12 = cuda_major == 12;
  return {.cublas_lt = {"cuBLASLt", is_12 ? "libcublasLt.so.12" : "libcublasLt.so.13",
                        "DSLAUNCH_CUBLASLT", "cublas",
                        is_12 ? "nvidia-cublas-cu12" : "nvidia-cublas", is_12 ? 120400 : 130000},
          .cudnn = {"cuDNN", "libcudnn.so.9", "DSLAUNCH_CUDNN", "cudnn",
                    is_12 ? "nvidia-cudnn-cu12" : "nvidia-cudnn-cu13", 90000},
          .nccl = {"NCCL", "libnccl.so.2", "DSLAUNCH_NCCL", "nccl",
                   is_12 ? "nvidia-nccl-cu12" : "nvidia-nccl-cu13", 22600},
          .nvrtc = {"NVRTC", is_12 ? "libnvrtc.so.12" : "libnvrtc.so.13", "DSLAUNCH_NVRTC",
                    "cuda_nvrtc", is_12 ? "nvidia-cuda-nvrtc-cu12" : "nvidia-cuda-nvrtc", 0}};
}

Surroundings this_machine() {
  return {.variable =
              [](const char* name) {
                const char* const value = std::getenv(name);
                return std::string(value != nullptr ? value : "");
              },
          .entries =
              [](const std::string& folder) {
                std::vector<std::string> names;
                std::error_code ignored;  // skips unreadable folders
                for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end;
                     at.increment(ignored))
                  names.push_back(at->path().filename().string());
                std::sort(names.begin(), names.end());
                return names;
              },
          .exists =
              [](const std::string& path) {
                std::error_code ignored;
                return fs::exists(path, ignored);
              },
          .real_path =
              [](const std::string& path) {
                std::error_code failed;
                const fs::path real = fs::canonical(path, failed);
                return failed ? std::string() : real.string();
              }};
}

std::vector<std::string> python_package_folders(const Surroundings& here) {
  std::vector<std::string> folders;
  for (const std::string& folder : split_path(here.variable("PYTHONPATH"))) add(folders, folder);
  for (const std::string& root : python_roots(here)) add_packages_of(folders, root, here);
  return folders;
}

Places places_of(const LibraryName& library, const Surroundings& here) {
  Places places;
  if (const std::string given = here.variable(library.variable); !given.empty()) {
    const std::string inside = given + "/" + library.soname;
    places.looked.push_back(given);
    places.files.push_back(here.exists(inside) ? inside : given);
    return places;
  }
  places.looked = toolkit_folders(here);
  for (const char* const folder :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib", "/usr/lib"})
    add(places.looked, folder);
  for (std::string& folder : wheel_folders(library, here)) add(places.looked, std::move(folder));
  for (const std::string& folder : places.looked) {
    const std::string path = folder + "/" + library.soname;
    if (here.exists(path)) places.files.push_back(path);
  }
  places.files.emplace_back(library.soname);
  return places;
}

std::string library_version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

}  // namespace ds::cuda
