// CUDA's functions for errors and devices.
#include <cstdio>
#include <cstring>

#include "cuda.h"
#include "runtime.h"

namespace emulation {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int device_of_thread = 0;
constexpr int kDriverVersion = CUDART_VERSION;

}  // namespace

int current_device() { return device_of_thread; }

cudaError_t remember(cudaError_t status) {
  if (status != cudaSuccess && status != cudaErrorNotReady) last_error = status;
  return status;
}

Knobs knobs() {
  Runtime& runtime = Runtime::get();
  const Held held(runtime.lock);
  return runtime.knobs;
}
void set_knobs(const Knobs& knobs) {
  Runtime& runtime = Runtime::get();
  const Held held(runtime.lock);
  runtime.set_knobs(knobs);
}
std::string fault() {
  Runtime& runtime = Runtime::get();
  const Held held(runtime.lock);
  return runtime.fault_text;
}
void reset_faults() {
  Runtime& runtime = Runtime::get();
  const Held held(runtime.lock);
  runtime.reset_faults();
  last_error = cudaSuccess;
}
std::uint64_t launches() {
  Runtime& runtime = Runtime::get();
  const Held held(runtime.lock);
  return runtime.launches;
}
bool reachable(const void* data, std::size_t bytes) {
  Runtime& runtime = Runtime::get();
  const Held held(runtime.lock);
  return runtime.memory.reachable(data, bytes);
}
cudaError_t enqueue(cudaStream_t stream, cudaError_t (*attempt)(void* self), void* self,
                    void (*destroy)(void* self)) {
  Runtime& runtime = Runtime::get();
  Held held(runtime.lock);
  if (const cudaError_t status = runtime.usable(); status != cudaSuccess) return status;
  const std::shared_ptr<void> owned(self, destroy);
  return runtime.enqueue(held, stream,
                         {.attempt = [attempt, owned] { return attempt(owned.get()); }});
}

namespace {

int attribute_of(const Knobs& knobs, cudaDeviceAttr attribute, int device) {
  const bool hopper = knobs.major >= 9;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return 1024;
    case cudaDevAttrMaxGridDimX:
      return 2147483647;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      return 65535;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return 49152;
    case cudaDevAttrWarpSize:
      return 32;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return 65536;
    case cudaDevAttrClockRate:
      return 1000000;
    case cudaDevAttrMultiProcessorCount:
      return 4;
    case cudaDevAttrMemoryClockRate:
      return 1000000;
    case cudaDevAttrGlobalMemoryBusWidth:
      return 512;
    case cudaDevAttrL2CacheSize:
      return 4 << 20;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return 2048;
    case cudaDevAttrAsyncEngineCount:
      return 3;
    case cudaDevAttrPciBusId:
      return device + 1;
    case cudaDevAttrComputeCapabilityMajor:
      return knobs.major;
    case cudaDevAttrComputeCapabilityMinor:
      return knobs.minor;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return hopper ? 233472 : 167936;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return hopper ? 232448 : 166912;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return 32;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return 1024;
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrHostRegisterSupported:
      return 1;
    default:
      return 0;
  }
}

}  // namespace
}  // namespace emulation

using namespace emulation;

extern "C" {

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define DS_EMULATION_ERROR(name, number, text) \
  case name:                                   \
    return #name;
    DS_EMULATION_ERRORS(DS_EMULATION_ERROR)
#undef DS_EMULATION_ERROR
  }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define DS_EMULATION_ERROR(name, number, text) \
  case name:                                   \
    return text;
    DS_EMULATION_ERRORS(DS_EMULATION_ERROR)
#undef DS_EMULATION_ERROR
  }
  return "unrecognized error code";
}

cudaError_t cudaPeekAtLastError() {
  Runtime& runtime = Runtime::get();
  const Held held(runtime.lock);
  const cudaError_t status = runtime.usable();
  return status != cudaSuccess ? status : last_error;
}

cudaError_t cudaGetLastError() {
  const cudaError_t status = cudaPeekAtLastError();
  last_error = cudaSuccess;
  return status;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = knobs().driver ? kDriverVersion : 0;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  return with_device([&](Runtime& runtime, Held&) {
    *count = runtime.knobs.devices;
    return cudaSuccess;
  });
}
cudaError_t cudaGetDevice(int* device) {
  return with_device([&](Runtime&, Held&) {
    *device = device_of_thread;
    return cudaSuccess;
  });
}
cudaError_t cudaSetDevice(int device) {
  return with_device([&](Runtime& runtime, Held&) {
    if (device < 0 || device >= runtime.knobs.devices) return cudaErrorInvalidDevice;
    device_of_thread = device;
    return cudaSuccess;
  });
}
cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }
cudaError_t cudaSetDeviceFlags(unsigned) {
  return with_device([](Runtime&, Held&) { return cudaSuccess; });
}
cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) { return cudaSetDeviceFlags(0); }

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return with_device([&](Runtime& runtime, Held&) {
    if (device < 0 || device >= runtime.knobs.devices) return cudaErrorInvalidDevice;
    *value = attribute_of(runtime.knobs, attribute, device);
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return with_device([&](Runtime& runtime, Held&) {
    if (device < 0 || device >= runtime.knobs.devices) return cudaErrorInvalidDevice;
    const auto get = [&](cudaDeviceAttr a) { return attribute_of(runtime.knobs, a, device); };
    *properties = {};
    std::snprintf(properties->name, sizeof(properties->name), "Emulated GPU");
    std::snprintf(properties->uuid.bytes, sizeof(properties->uuid.bytes), "emulated %d",
                  device % 100);
    properties->totalGlobalMem = runtime.knobs.memory;
    properties->sharedMemPerBlock = 49152;
    properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = 1024;
    properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
    properties->maxThreadsDim[2] = 64;
    properties->maxGridSize[0] = 2147483647;
    properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
    properties->major = runtime.knobs.major;
    properties->minor = runtime.knobs.minor;
    properties->multiProcessorCount = get(cudaDevAttrMultiProcessorCount);
    properties->canMapHostMemory = properties->concurrentKernels = 1;
    properties->pciBusID = device + 1;
    properties->asyncEngineCount = 3;
    properties->unifiedAddressing = properties->streamPrioritiesSupported = 1;
    properties->memoryBusWidth = 512;
    properties->l2CacheSize = get(cudaDevAttrL2CacheSize);
    properties->maxThreadsPerMultiProcessor = 2048;
    properties->sharedMemPerMultiprocessor =
        static_cast<std::size_t>(get(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
    properties->canUseHostPointerForRegisteredMem = properties->hostRegisterSupported = 1;
    properties->sharedMemPerBlockOptin =
        static_cast<std::size_t>(get(cudaDevAttrMaxSharedMemoryPerBlockOptin));
    properties->maxBlocksPerMultiProcessor = 32;
    properties->reservedSharedMemPerBlock = 1024;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  return with_device([&](Runtime& runtime, Held&) {
    if (device < 0 || device >= runtime.knobs.devices) return cudaErrorInvalidDevice;
    std::snprintf(id, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 1);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return with_device([&](Runtime&, Held&) {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceSynchronize() {
  return with_device([](Runtime& runtime, Held& held) { return runtime.wait_for_all(held); });
}
cudaError_t cudaDeviceReset() { return cudaDeviceSynchronize(); }

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* status) {
  static const struct {
    const char* name;
    void* function;
  } known[] = {{"cuStreamWaitValue32", reinterpret_cast<void*>(&cuStreamWaitValue32)},
               {"cuStreamWriteValue32", reinterpret_cast<void*>(&cuStreamWriteValue32)},
               {"cuGetErrorString", reinterpret_cast<void*>(&cuGetErrorString)},
               {"cuGetErrorName", reinterpret_cast<void*>(&cuGetErrorName)}};
  return with_device([&](Runtime&, Held&) {
    *function = nullptr;
    for (const auto& entry : known) {
      if (std::strcmp(entry.name, symbol) == 0) *function = entry.function;
    }
    if (status != nullptr) {
      *status =
          *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    }
    return cudaSuccess;
  });
}
#if CUDART_VERSION >= 12050
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPoint(symbol, function, flags, status);
}
#endif

CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = cudaGetErrorString(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** name) {
  *name = cudaGetErrorName(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}

}  // extern "C"
