// Opens the first suitable file of each NVIDIA library.
#include "engine/device/cuda/libraries.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "engine/base/error.h"

namespace ds::cuda {
namespace {

constexpr int kCudaMajor = CUDART_VERSION / 1000;  // that this plugin is built with
const LibraryNames kNames = library_names(kCudaMajor);

/// Returns the version of an opened library; 0 if it does not report one.
using ReadVersion = int (*)(void* handle);

template <class Function>
Function* symbol_of(void* handle, const char* name) {
  return reinterpret_cast<Function*>(dlsym(handle, name));
}

int cublas_lt_version(void* handle) {
  auto* const version = symbol_of<std::size_t()>(handle, "cublasLtGetVersion");
  return version != nullptr ? static_cast<int>(version()) : 0;
}
int cudnn_version(void* handle) {
  // Both majors of CUDA have a libcudnn.so.9.
  auto* const runtime = symbol_of<std::size_t()>(handle, "cudnnGetCudartVersion");
  if (runtime != nullptr && static_cast<int>(runtime() / 1000) != kCudaMajor) return 0;
  auto* const version = symbol_of<std::size_t()>(handle, "cudnnGetVersion");
  return version != nullptr ? static_cast<int>(version()) : 0;
}
int nccl_version(void* handle) {
  auto* const read = symbol_of<int(int*)>(handle, "ncclGetVersion");
  int version = 0;
  return read != nullptr && read(&version) == 0 ? version : 0;
}

[[noreturn]] void raise_not_found(const LibraryName& name, const Places& places,
                                  const std::vector<std::string>& reasons) {
  throw Error(ErrorKind::config,
              fmt::format("{} ({}) was not found:\n  {}\n  searched {}", name.title, name.soname,
                          fmt::join(reasons, "\n  "), fmt::join(places.looked, ", ")),
              fmt::format("install it (pip install {}, or the CUDA Toolkit), or set {} to its path",
                          name.package, name.variable));
}

Library open_library(const LibraryName& name, ReadVersion read_version) {
  const Places places = places_of(name, this_machine());
  std::vector<std::string> reasons;
  for (const std::string& path : places.files) {
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* const reason = dlerror();
      reasons.emplace_back(reason != nullptr ? reason : path);
      continue;
    }
    const int version = read_version(handle);
    if (version >= name.least) return {name, handle, path, version};
    reasons.push_back(version == 0 ? fmt::format("{}: not for CUDA {}", path, kCudaMajor)
                                   : fmt::format("{}: version {}, but at least {} is needed", path,
                                                 library_version_text(version),
                                                 library_version_text(name.least)));
    dlclose(handle);
  }
  raise_not_found(name, places, reasons);
}

/// Opens NVRTC before cuDNN needs it. cuDNN compiles some kernels at first use and opens NVRTC by
/// soname, which finds an already opened one in folders that cuDNN itself would not search.
void open_for_cudnn() {
  for (const std::string& path : places_of(kNames.nvrtc, this_machine()).files) {
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return;
  }
}

std::string report_line(const char* title, const Library& (*open)()) {
  try {
    const Library& library = open();
    return fmt::format("{}: {} at {}\n", title, library_version_text(library.version()),
                       library.path());
  } catch (const std::exception& error) {
    std::string why = error.what();
    std::replace(why.begin(), why.end(), '\n', ' ');
    return fmt::format("{}: missing: {}\n", title, why);
  }
}

}  // namespace

void* Library::find(const char* symbol) const {
  void* const found = dlsym(handle_, symbol);
  if (found == nullptr) {
    throw Error(ErrorKind::config,
                fmt::format("{} {} at {} has no function {}", name_.title,
                            library_version_text(version_), path_, symbol),
                fmt::format("install a newer version, or set {} to its path", name_.variable));
  }
  return found;
}

const Library& cublas_lt_library() {
  static const Library library = open_library(kNames.cublas_lt, cublas_lt_version);
  return library;
}

const Library& cudnn_library() {
  static const Library library = [] {
    open_for_cudnn();
    return open_library(kNames.cudnn, cudnn_version);
  }();
  return library;
}

const Library& nccl_library() {
  static const Library library = open_library(kNames.nccl, nccl_version);
  return library;
}

std::string library_report() {
  return report_line(kNames.cublas_lt.title, cublas_lt_library) +
         report_line(kNames.cudnn.title, cudnn_library) +
         report_line(kNames.nccl.title, nccl_library);
}

}  // namespace ds::cuda
