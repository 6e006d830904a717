// A request to the fake cuBLASLt, and what the library's documentation demands of it.
#pragma once

#include <cublasLt.h>

namespace fake_cublaslt {

struct Operation {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;
  cublasOperation_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  const void* aux = nullptr;
  std::int64_t aux_ld = 0;
  std::int32_t bias_type = -1;  // -1: the type of D
  [[nodiscard]] bool adds_bias() const;
  [[nodiscard]] bool writes_gelu() const;  // and its argument to the auxiliary matrix
  [[nodiscard]] bool has_aux() const;
  [[nodiscard]] bool sums_a() const;
};

/// Column-major: element (i, j) is at i + j * ld.
struct Layout {
  cudaDataType_t type = CUDA_R_32F;
  std::int64_t rows = 0, columns = 0, ld = 0;
};

struct Preference {
  std::uint64_t workspace = 0;
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::uint32_t a = 256, b = 256, c = 256, d = 256;  // alignments
};

struct Problem {
  Operation operation;
  Layout a, b, c, d;
  [[nodiscard]] std::int64_t depth() const {
    return operation.transpose_a == CUBLAS_OP_N ? a.columns : a.rows;
  }
};

/// Algorithms of the fake. The fast one needs everything at multiples of 16 bytes and scratch for
/// long sums. The slow one accepts anything and sums from the other end, so results show which one
/// ran.
struct Choice {
  enum Id : std::int32_t { fast = 66, slow = 13, broken = 99 };
  std::int32_t id = slow;
  std::int32_t parts = 1;
  std::uint64_t workspace = 0;
  std::uint64_t fingerprint = 0;  // of the problem that it was made for
};

std::int64_t size_of(cudaDataType_t type);

/// Returns success or the library's status for such a problem. The reason goes to stderr if
/// DS_EMULATION_CUBLASLT_SAY is set.
cublasStatus_t check(const Problem& problem);
/// Returns whether bias and auxiliary matrix are aligned and sized as their epilogue needs.
bool epilogue_fits(const Operation& operation);
bool may_be_fast(const Problem& problem, const Preference& preference);
std::uint64_t fingerprint(const Problem& problem);

cublasLtMatmulAlgo_t packed(const Choice& choice);
/// Returns false if the algorithm was not made by this library.
bool unpack(const cublasLtMatmulAlgo_t& algo, Choice& choice);

/// Returns whether DS_EMULATION_CUBLASLT is `behaviour`: "" normal, "none" no algorithm at all,
/// "no-epilogue" none with an epilogue, "broken-first" the best algorithm fails to launch, "fail"
/// every launch fails.
bool asked_for(const char* behaviour);

}  // namespace fake_cublaslt
