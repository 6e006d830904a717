// NVIDIA's libraries, opened at run time; nothing links against them.
#pragma once

#include <string>

#include "engine/device/cuda/library_places.h"

namespace ds::cuda {

/// An opened library. It stays open until the process ends.
class Library {
 public:
  Library(const LibraryName& name, void* handle, std::string path, int version)
      : name_(name), handle_(handle), path_(std::move(path)), version_(version) {}

  /// Returns a function. Errors: Error{config} naming library, file and symbol.
  [[nodiscard]] void* find(const char* symbol) const;
  /// Usage: library.bind(table.matmul, "cublasLtMatmul") for `decltype(&cublasLtMatmul) matmul`.
  template <class Function>
  void bind(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(find(symbol));
  }

  [[nodiscard]] void* handle() const { return handle_; }  // from dlopen
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int version() const { return version_; }  // as the library counts: 130100, 91900

 private:
  const LibraryName& name_;
  void* handle_;
  std::string path_;
  int version_;
};

/// Return the library, opened at the first call. Errors: Error{config} with every file that was
/// tried and why it was unsuitable; a later call tries again.
const Library& cublas_lt_library();
const Library& cudnn_library();
const Library& nccl_library();

/// Returns one line per library: version and file, or that it was not found and where it was
/// searched. Never throws.
std::string library_report();

}  // namespace ds::cuda
