// Rules of cuBLASLt, from its documentation of "cublasLtMatmul" and
// "cublasLtMatmulDescAttributes_t".
#include "problem.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace fake_cublaslt {
namespace {

constexpr std::uint64_t kMark = 0x66616B65626C6173U;
constexpr std::int64_t kWide = 16;

cublasStatus_t refuse(cublasStatus_t status, const char* reason) {
  if (std::getenv("DS_EMULATION_CUBLASLT_SAY") != nullptr) {
    std::fprintf(stderr, "fake cuBLASLt: %s\n", reason);
  }
  return status;
}

bool types_fit(const Problem& p) {
  if (p.a.type != p.b.type || p.c.type != p.d.type) return false;
  if (p.a.type == CUDA_R_32F) return p.d.type == CUDA_R_32F;
  if (p.a.type != CUDA_R_16F && p.a.type != CUDA_R_16BF) return false;
  return p.d.type == p.a.type || p.d.type == CUDA_R_32F;
}

bool shapes_fit(const Problem& p) {
  const bool plain_a = p.operation.transpose_a == CUBLAS_OP_N;
  const bool plain_b = p.operation.transpose_b == CUBLAS_OP_N;
  const std::int64_t m = plain_a ? p.a.rows : p.a.columns;
  const std::int64_t n = plain_b ? p.b.columns : p.b.rows;
  const std::int64_t k = plain_b ? p.b.rows : p.b.columns;
  return k == p.depth() && m == p.d.rows && n == p.d.columns && p.c.rows == m && p.c.columns == n;
}

bool is_wide(const Layout& l) { return l.ld * size_of(l.type) % kWide == 0; }

bool aligned(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % kWide == 0; }

}  // namespace

bool Operation::adds_bias() const {
  return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}
bool Operation::writes_gelu() const {
  return epilogue == CUBLASLT_EPILOGUE_GELU_AUX || epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}
bool Operation::has_aux() const { return writes_gelu() || epilogue == CUBLASLT_EPILOGUE_DGELU; }
bool Operation::sums_a() const { return epilogue == CUBLASLT_EPILOGUE_BGRADA; }

std::int64_t size_of(cudaDataType_t type) { return type == CUDA_R_32F ? 4 : 2; }

cublasStatus_t check(const Problem& p) {
  if (p.operation.compute != CUBLAS_COMPUTE_32F || p.operation.scale != CUDA_R_32F) {
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "computes in f32 with f32 factors only");
  }
  if (!types_fit(p)) return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "unsupported combination of types");
  if (!shapes_fit(p)) return refuse(CUBLAS_STATUS_INVALID_VALUE, "extents do not match");
  for (const Layout* l : {&p.a, &p.b, &p.c, &p.d}) {
    if (l->rows <= 0 || l->columns <= 0) {
      return refuse(CUBLAS_STATUS_INVALID_VALUE, "an empty matrix");
    }
    if (l->ld < l->rows) return refuse(CUBLAS_STATUS_INVALID_VALUE, "a column overlaps the next");
  }
  if (p.operation.has_aux()) {
    if (p.operation.aux_ld < p.d.rows || p.operation.aux_ld % 8 != 0) {
      return refuse(CUBLAS_STATUS_INVALID_VALUE,
                    "the auxiliary matrix's columns are too short, or not a multiple of 8");
    }
    if (p.d.type != p.a.type) {
      return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "GELU or its slope with a result of another type");
    }
    if (p.operation.writes_gelu() && p.d.type == CUDA_R_32F) {
      return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "GELU's argument stored in 32 bits");
    }
  } else if (p.operation.sums_a()) {
    if (p.a.type == CUDA_R_32F) {
      return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "a bias gradient of 32 bits");
    }
    if (p.operation.bias_type != -1 && p.operation.bias_type != p.d.type) {
      return refuse(CUBLAS_STATUS_INVALID_VALUE, "a bias gradient of another type than D's");
    }
  } else if (p.operation.epilogue != CUBLASLT_EPILOGUE_DEFAULT &&
             p.operation.epilogue != CUBLASLT_EPILOGUE_BIAS) {
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "an epilogue that this fake does not support");
  }
  return CUBLAS_STATUS_SUCCESS;
}

bool epilogue_fits(const Operation& o) {
  const bool has_vector = o.adds_bias() || o.sums_a();
  return (!has_vector || (o.bias != nullptr && aligned(o.bias))) &&
         (!o.has_aux() || (o.aux != nullptr && aligned(o.aux)));
}

bool may_be_fast(const Problem& p, const Preference& preference) {
  for (const std::uint32_t alignment : {preference.a, preference.b, preference.c, preference.d}) {
    if (alignment < kWide) return false;
  }
  return is_wide(p.a) && is_wide(p.b) && is_wide(p.c) && is_wide(p.d);
}

std::uint64_t fingerprint(const Problem& p) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  const auto add = [&](std::int64_t number) {
    hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x100000001B3U;
  };
  for (const Layout* l : {&p.a, &p.b, &p.d}) {
    add(l->type);
    add(l->rows);
    add(l->columns);
    add(l->ld);
  }
  add(p.operation.transpose_a);
  add(p.operation.transpose_b);
  add(p.operation.epilogue);
  return hash;
}

cublasLtMatmulAlgo_t packed(const Choice& choice) {
  static_assert(sizeof(Choice) <= 7 * sizeof(std::uint64_t));
  cublasLtMatmulAlgo_t algo{};
  algo.data[0] = kMark;
  std::memcpy(&algo.data[1], &choice, sizeof choice);
  return algo;
}

bool unpack(const cublasLtMatmulAlgo_t& algo, Choice& choice) {
  if (algo.data[0] != kMark) return false;
  std::memcpy(static_cast<void*>(&choice), &algo.data[1], sizeof choice);
  return choice.id == Choice::fast || choice.id == Choice::slow || choice.id == Choice::broken;
}

bool asked_for(const char* behaviour) {
  const char* const asked = std::getenv("DS_EMULATION_CUBLASLT");
  return asked != nullptr && std::strcmp(asked, behaviour) == 0;
}

}  // namespace fake_cublaslt
