// libcuda.so.1 for a machine without a GPU. It suffices for cuDNN to choose kernels, compile them
// and plan them for a device that it is told about. Nothing can be launched.
//
// cuDNN and NVRTC look these functions up by name and never use C++ types, so one function shape
// serves for all.
#include <cstdlib>

namespace {
constexpr int kSuccess = 0, kStub = 34;  // CUDA_ERROR_STUB_LIBRARY
int an_object = 0;

int give_object(void** object) {
  *object = &an_object;
  return kSuccess;
}
int give_one(int* value) {
  *value = 1;
  return kSuccess;
}
}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses)
#define DS_GIVES_OBJECT(name) \
  extern "C" int name(void** object) { return give_object(object); }
#define DS_GIVES_ONE(name) \
  extern "C" int name(int* value) { return give_one(value); }
#define DS_SUCCEEDS(name) \
  extern "C" int name() { return kSuccess; }
#define DS_FAILS(name) \
  extern "C" int name() { return kStub; }
// NOLINTEND(bugprone-macro-parentheses)

// Functions that load compiled code.
DS_GIVES_OBJECT(cuLibraryLoadData)
DS_GIVES_OBJECT(cuLibraryLoadFromFile)
DS_GIVES_OBJECT(cuLibraryGetKernel)
DS_GIVES_OBJECT(cuModuleLoadData)
DS_GIVES_OBJECT(cuModuleLoadDataEx)
DS_GIVES_OBJECT(cuModuleGetFunction)
DS_GIVES_OBJECT(cuKernelGetFunction)
DS_SUCCEEDS(cuLibraryUnload)
DS_SUCCEEDS(cuModuleUnload)
DS_SUCCEEDS(cuKernelSetAttribute)
DS_SUCCEEDS(cuFuncSetAttribute)
DS_SUCCEEDS(cuTensorMapEncodeIm2col)
DS_GIVES_ONE(cuKernelGetAttribute)
DS_GIVES_ONE(cuFuncGetAttribute)
DS_GIVES_ONE(cuOccupancyMaxActiveBlocksPerMultiprocessor)
/// The newest CUDA that the driver supports, from DS_FAKE_DRIVER_VERSION.
extern "C" int cuDriverGetVersion(int* version) {
  const char* const given = std::getenv("DS_FAKE_DRIVER_VERSION");
  *version = given != nullptr ? std::atoi(given) : 13000;
  return kSuccess;
}

// Functions that need a device.
DS_FAILS(cuInit)
DS_FAILS(cuCtxGetCurrent)
DS_FAILS(cuCtxGetDevice)
DS_FAILS(cuCtxGetLimit)
DS_FAILS(cuCtxPopCurrent)
DS_FAILS(cuCtxPushCurrent)
DS_FAILS(cuDeviceGet)
DS_FAILS(cuDeviceGetAttribute)
DS_FAILS(cuDeviceGetCount)
DS_FAILS(cuDevicePrimaryCtxRelease)
DS_FAILS(cuDevicePrimaryCtxReset)
DS_FAILS(cuDevicePrimaryCtxRetain)
DS_FAILS(cuGetErrorName)
DS_FAILS(cuGetErrorString)
DS_FAILS(cuLaunchCooperativeKernel)
DS_FAILS(cuLaunchKernel)
DS_FAILS(cuLaunchKernelEx)
DS_FAILS(cuLinkAddData)
DS_FAILS(cuLinkAddData_v2)
DS_FAILS(cuLinkAddFile_v2)
DS_FAILS(cuLinkComplete)
DS_FAILS(cuLinkCreate)
DS_FAILS(cuLinkCreate_v2)
DS_FAILS(cuLinkDestroy)
DS_FAILS(cuMemcpyDtoH_v2)
DS_FAILS(cuModuleGetGlobal_v2)
DS_FAILS(cuModuleLoadFatBinary)
DS_FAILS(cuOccupancyMaxPotentialClusterSize)
DS_FAILS(cuStreamGetCtx)
DS_FAILS(cuStreamSynchronize)
DS_FAILS(cuTensorMapEncodeTiled)
