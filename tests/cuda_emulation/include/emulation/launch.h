// cudaLaunchKernelEx: keeps a copy of the arguments until the runtime runs the kernel.
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cuda_runtime_api.h"

namespace emulation {

/// A kernel with its arguments.
class KernelCall {
 public:
  virtual ~KernelCall() = default;
  /// Runs the kernel for the thread that threadIdx and blockIdx name.
  virtual void run_thread() const = 0;
  /// Calls visit(self, argument number, pointer) for every argument that is a pointer.
  using Visit = void (*)(void* self, int argument, const void* pointer);
  virtual void visit_pointers(Visit visit, void* self) const = 0;
};

template <class... Parameters>
class TypedCall final : public KernelCall {
 public:
  template <class... Arguments>
  explicit TypedCall(void (*kernel)(Parameters...), Arguments&&... arguments)
      : kernel_(kernel), arguments_(std::forward<Arguments>(arguments)...) {}

  void run_thread() const override { std::apply(kernel_, arguments_); }

  void visit_pointers(Visit visit, void* self) const override {
    std::apply(
        [&](const auto&... arguments) {
          int number = 0;
          (visit_one(visit, self, number++, arguments), ...);
          static_cast<void>(number);
        },
        arguments_);
  }

 private:
  template <class T>
  static void visit_one(Visit visit, void* self, int number, const T& argument) {
    if constexpr (std::is_pointer_v<T>) {
      visit(self, number, static_cast<const void*>(argument));
    } else {
      static_cast<void>(visit), static_cast<void>(self), static_cast<void>(number);
      static_cast<void>(argument);
    }
  }

  void (*kernel_)(Parameters...);
  std::tuple<std::remove_const_t<Parameters>...> arguments_;
};

cudaError_t launch_kernel(const cudaLaunchConfig_t& config, const void* function,
                          std::unique_ptr<KernelCall> call);

}  // namespace emulation

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments));
  return emulation::launch_kernel(*config, reinterpret_cast<const void*>(kernel),
                                  std::make_unique<emulation::TypedCall<Parameters...>>(
                                      kernel, std::forward<Arguments>(arguments)...));
}

template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute,
                                 int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
template <class... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*kernel)(Parameters...)) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel));
}
template <class... Parameters>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                          void (*kernel)(Parameters...),
                                                          int block_size,
                                                          std::size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      blocks, reinterpret_cast<const void*>(kernel), block_size, shared_bytes);
}
