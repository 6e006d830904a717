// Functions of the fake cuBLASLt: libcublasLt.so.13 (or 12) for machines without a GPU.
#include <cublasLt.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "compute.h"
#include "cuda_emulation.h"

struct cublasLtContext {
  int device = 0;
};

namespace fake_cublaslt {
namespace {

/// The public handles point to opaque words; these functions return our structures behind them.
Operation& of(cublasLtMatmulDesc_t desc) { return *reinterpret_cast<Operation*>(desc); }
Layout& of(cublasLtMatrixLayout_t layout) { return *reinterpret_cast<Layout*>(layout); }
Preference& of(cublasLtMatmulPreference_t p) { return *reinterpret_cast<Preference*>(p); }

template <class T>
cublasStatus_t take(T& to, const void* value, std::size_t bytes) {
  if (value == nullptr || bytes != sizeof to) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, value, sizeof to);
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t give(T from, void* value, std::size_t bytes, std::size_t* written) {
  if (value == nullptr || bytes != sizeof from) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, &from, sizeof from);
  if (written != nullptr) *written = sizeof from;
  return CUBLAS_STATUS_SUCCESS;
}

/// Splits long sums in two, with the parts in the workspace.
Choice fast_choice(const Problem& p, const Preference& preference) {
  constexpr std::int64_t kLong = 256;
  Choice choice{.id = Choice::fast, .parts = 1, .workspace = 0, .fingerprint = fingerprint(p)};
  const auto bytes = static_cast<std::uint64_t>(2 * 4 * p.d.rows * p.d.columns);
  if (p.depth() >= kLong && bytes <= preference.workspace) {
    choice.parts = 2;
    choice.workspace = bytes;
  }
  return choice;
}

cublasLtMatmulHeuristicResult_t result_of(const Choice& choice) {
  return {packed(choice), choice.workspace, CUBLAS_STATUS_SUCCESS, 1.0F, {}};
}

std::vector<Choice> choices_for(const Problem& p, const Preference& preference) {
  if (asked_for("none")) return {};
  const bool plain = p.operation.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  if (!plain && (asked_for("no-epilogue") || !epilogue_fits(p.operation))) return {};
  std::vector<Choice> choices;
  if (asked_for("broken-first")) choices.push_back({.id = Choice::broken});
  if (may_be_fast(p, preference)) choices.push_back(fast_choice(p, preference));
  choices.push_back({.id = Choice::slow});
  for (Choice& choice : choices) choice.fingerprint = fingerprint(p);
  return choices;
}

bool aligned_for(const Choice& choice, const Problem& p, const Launch& l) {
  const auto fits = [&](const void* data, std::int64_t size) {
    const auto multiple = static_cast<std::uintptr_t>(choice.id == Choice::fast ? 16 : size);
    return reinterpret_cast<std::uintptr_t>(data) % multiple == 0;
  };
  return fits(l.a, size_of(p.a.type)) && fits(l.b, size_of(p.b.type)) &&
         fits(l.d, size_of(p.d.type)) && epilogue_fits(p.operation);
}

}  // namespace
}  // namespace fake_cublaslt

using namespace fake_cublaslt;

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasLtContext{device};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

std::size_t cublasLtGetVersion() { return DS_EMULATED_CUDA * 10 + 100; }

const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    default:
      return "unknown CUBLAS_STATUS";
  }
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_EXECUTION_FAILED ? "the GPU program failed to execute"
                                                  : "the requested functionality is not supported";
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  auto* const operation = new Operation;
  operation->compute = compute;
  operation->scale = scale;
  *desc = reinterpret_cast<cublasLtMatmulDesc_t>(operation);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete &of(desc);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  Operation& o = of(desc);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return take(o.transpose_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return take(o.transpose_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return take(o.epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return take(o.bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return take(o.aux, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return take(o.aux_ld, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return take(o.bias_type, value, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t ld) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), ld});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &of(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete &of(preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  Preference& p = of(preference);
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return take(p.workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return take(p.reductions, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return take(p.a, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return take(p.b, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return take(p.c, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return take(p.d, value, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t /*handle*/,
                                              cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  const Problem problem{of(desc), of(a), of(b), of(c), of(d)};
  *found = 0;
  if (most <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (const cublasStatus_t status = check(problem); status != CUBLAS_STATUS_SUCCESS) return status;
  // The other schemes add parts in order of arrival, or in fewer bits.
  if ((of(preference).reductions & ~CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) != 0) std::abort();
  for (const Choice& choice : choices_for(problem, of(preference))) {
    if (*found < most) results[(*found)++] = result_of(choice);
  }
  return *found > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t desc,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algo,
                                       cublasLtMatmulHeuristicResult_t* result) {
  const Problem problem{of(desc), of(a), of(b), of(c), of(d)};
  if (const cublasStatus_t status = check(problem); status != CUBLAS_STATUS_SUCCESS) return status;
  Choice choice;
  if (!unpack(*algo, choice) || choice.fingerprint != fingerprint(problem)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *result = result_of(choice);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* value, std::size_t bytes,
                                                    std::size_t* written) {
  Choice choice;
  if (!unpack(*algo, choice)) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case CUBLASLT_ALGO_CONFIG_ID:
      return give(choice.id, value, bytes, written);
    case CUBLASLT_ALGO_CONFIG_TILE_ID:
      return give(std::uint32_t{20}, value, bytes, written);
    case CUBLASLT_ALGO_CONFIG_SPLITK_NUM:
      return give(choice.parts, value, bytes, written);
    case CUBLASLT_ALGO_CONFIG_STAGES_ID:
      return give(std::uint32_t{4}, value, bytes, written);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t desc,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, std::size_t workspace_bytes, cudaStream_t stream) {
  if (asked_for("fail")) return CUBLAS_STATUS_EXECUTION_FAILED;
  Launch launch{.problem = {of(desc), of(a_layout), of(b_layout), of(c_layout), of(d_layout)},
                .choice = {},
                .alpha = *static_cast<const float*>(alpha),
                .beta = *static_cast<const float*>(beta),
                .a = a,
                .b = b,
                .c = c,
                .d = d,
                .workspace = workspace};
  const Problem& p = launch.problem;
  if (const cublasStatus_t status = check(p); status != CUBLAS_STATUS_SUCCESS) return status;
  if (!unpack(*algo, launch.choice) || launch.choice.fingerprint != fingerprint(p)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (launch.choice.id == Choice::broken) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!aligned_for(launch.choice, p, launch)) return CUBLAS_STATUS_INVALID_VALUE;
  const bool room = launch.choice.workspace <= workspace_bytes &&
                    reinterpret_cast<std::uintptr_t>(workspace) % 16 == 0;
  if (!room) return CUBLAS_STATUS_INVALID_VALUE;
  launch.reachable = all_reachable(launch);
  const cudaError_t queued = emulation::enqueue(
      stream, [](void* self) { return compute(*static_cast<Launch*>(self)); }, new Launch(launch),
      [](void* self) { delete static_cast<Launch*>(self); });
  return queued == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
