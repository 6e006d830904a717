// ProductPlan: cuBLASLt's descriptors, its heuristic and its launch.
#include "engine/kernels/cuda/product_plan.h"

#include <cstring>

namespace ds::cuda {
namespace {

void check_library(const CublasLt& lt, cublasStatus_t status, const std::string& what) {
  if (status != CUBLAS_STATUS_SUCCESS) raise_library(lt, status, what);
}

// Partial sums are in f32 in the workspace and added by a separate step in one order. In place, the
// parts would be rounded to the result's type and added in the order of arrival.
constexpr std::uint32_t kReductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

cudaDataType_t type_of(DType type) {
  switch (type) {
    case DType::f32:
      return CUDA_R_32F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f16:
      return CUDA_R_16F;
    default:
      DS_ASSERT(false, "products support f32, bf16 and f16");
  }
  return CUDA_R_32F;
}

cublasLtEpilogue_t epilogue_of(ProductEpilogue epilogue) {
  switch (epilogue) {
    case ProductEpilogue::none:
      return CUBLASLT_EPILOGUE_DEFAULT;
    case ProductEpilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case ProductEpilogue::gelu_slope:
      return CUBLASLT_EPILOGUE_DGELU;
    case ProductEpilogue::gelu:
      return CUBLASLT_EPILOGUE_GELU_AUX;
    case ProductEpilogue::bias_gelu:
      return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case ProductEpilogue::column_sums:
      // Our b (k, n) is the library's A (n, k). Its sums along k, one per row of the library's
      // D (n, m), are the sums of our b's columns.
      return CUBLASLT_EPILOGUE_BGRADA;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

/// Returns the library's bias vector, which it reads or writes.
const void* bias_of(const Product& p) {
  return p.epilogue == ProductEpilogue::bias || p.epilogue == ProductEpilogue::bias_gelu ? p.extra
         : p.epilogue == ProductEpilogue::column_sums                                    ? p.second
                                                                                         : nullptr;
}

/// Returns the library's auxiliary matrix: GELU's argument, read or written.
const void* aux_of(const Product& p) {
  return p.epilogue == ProductEpilogue::gelu_slope ? p.extra
         : p.epilogue == ProductEpilogue::gelu || p.epilogue == ProductEpilogue::bias_gelu
             ? p.second
             : nullptr;
}

/// Creates a layout with the library's order of extents: elements are adjacent along the first.
cublasLtMatrixLayout_t layout(const CublasLt& lt, DType type, std::int64_t beside,
                              std::int64_t apart, std::int64_t distance, const std::string& what) {
  cublasLtMatrixLayout_t made = nullptr;
  check_library(lt,
                lt.MatrixLayoutCreate(&made, type_of(type), static_cast<std::uint64_t>(beside),
                                      static_cast<std::uint64_t>(apart), distance),
                what);
  return made;
}

cublasLtMatrixLayout_t operand(const CublasLt& lt, DType type, const ProductOperand& o,
                               std::int64_t rows, std::int64_t columns, const std::string& what) {
  return layout(lt, type, o.transposed ? rows : columns, o.transposed ? columns : rows,
                o.row_length, what);
}

cublasLtMatmulAlgo_t unpacked(const Algorithm& algorithm) {
  cublasLtMatmulAlgo_t algo;
  static_assert(sizeof algo == sizeof algorithm.words);
  std::memcpy(&algo, algorithm.words.data(), sizeof algo);
  return algo;
}

Algorithm packed(const cublasLtMatmulHeuristicResult_t& result) {
  Algorithm algorithm;
  std::memcpy(algorithm.words.data(), &result.algo, sizeof result.algo);
  algorithm.workspace_bytes = result.workspaceSize;
  return algorithm;
}

std::uint32_t alignment(std::int64_t bytes) { return static_cast<std::uint32_t>(bytes); }

/// Owns the library's preference and frees it, also when a call throws.
class Preference {
 public:
  explicit Preference(const CublasLt& lt) : lt_(lt) {
    check_library(lt, lt.MatmulPreferenceCreate(&preference_), "getting algorithms");
  }
  ~Preference() { lt_.MatmulPreferenceDestroy(preference_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
    check_library(lt_,
                  lt_.MatmulPreferenceSetAttribute(preference_, attribute, &value, sizeof value),
                  "getting algorithms");
  }
  [[nodiscard]] cublasLtMatmulPreference_t get() const { return preference_; }

 private:
  const CublasLt& lt_;
  cublasLtMatmulPreference_t preference_ = nullptr;
};

template <class T>
void set(const CublasLt& lt, cublasLtMatmulDesc_t operation,
         cublasLtMatmulDescAttributes_t attribute, const T& value, const std::string& what) {
  check_library(lt, lt.MatmulDescSetAttribute(operation, attribute, &value, sizeof value), what);
}

}  // namespace

void raise_library(const CublasLt& lt, cublasStatus_t status, const std::string& what) {
  const bool failed = status == CUBLAS_STATUS_EXECUTION_FAILED;
  throw Error(ErrorKind::system,
              fmt::format("cuBLASLt: {}: {} ({})", what, lt.GetStatusString(status),
                          lt.GetStatusName(status)),
              failed ? "a kernel failed, maybe an earlier one; run the job on one node with "
                       "CUDA_LAUNCH_BLOCKING=1 to see which op; dmesg shows the Xid"
                     : "");
}

ProductPlan::ProductPlan(const ProductLibrary& library, const Product& p) : library_(library) {
  const CublasLt& lt = *library.lt;
  const std::string what = describe(p);
  check_library(lt, lt.MatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F), what);
  const cublasOperation_t transpose_a = p.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                          transpose_b = p.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  set(lt, operation_, CUBLASLT_MATMUL_DESC_TRANSA, transpose_a, what);
  set(lt, operation_, CUBLASLT_MATMUL_DESC_TRANSB, transpose_b, what);
  set(lt, operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(p.epilogue), what);
  if (aux_of(p) != nullptr) {
    set(lt, operation_, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p.out_row_length, what);
  }
  if (p.epilogue == ProductEpilogue::column_sums) {
    set(lt, operation_, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, std::int32_t{CUDA_R_32F}, what);
  }
  a_ = operand(lt, p.type, p.b, p.k, p.n, what);
  b_ = operand(lt, p.type, p.a, p.m, p.k, what);
  out_ = layout(lt, p.out_type, p.n, p.m, p.out_row_length, what);
}

ProductPlan::~ProductPlan() {
  const CublasLt& lt = *library_.lt;
  if (out_ != nullptr) lt.MatrixLayoutDestroy(out_);
  if (b_ != nullptr) lt.MatrixLayoutDestroy(b_);
  if (a_ != nullptr) lt.MatrixLayoutDestroy(a_);
  if (operation_ != nullptr) lt.MatmulDescDestroy(operation_);
}

void ProductPlan::point_to(const Product& p) {
  const auto point = [&](cublasLtMatmulDescAttributes_t attribute, const void*& known,
                         const void* wanted) {
    if (wanted == known) return;
    const cublasStatus_t status =
        library_.lt->MatmulDescSetAttribute(operation_, attribute, &wanted, sizeof wanted);
    if (status != CUBLAS_STATUS_SUCCESS) raise_library(*library_.lt, status, describe(p));
    known = wanted;
  };
  point(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_, bias_of(p));
  point(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux_, aux_of(p));
}

std::vector<Algorithm> ProductPlan::candidates(const Product& p, std::int64_t workspace_bytes,
                                               int most) {
  const CublasLt& lt = *library_.lt;
  point_to(p);
  Preference preference(lt);
  const auto limit = static_cast<std::uint64_t>(workspace_bytes);
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, limit);
  preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kReductions);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(alignment_of(p.b.data)));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(alignment_of(p.a.data)));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(alignment_of(p.out)));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(alignment_of(p.out)));
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
  int found = 0;
  const cublasStatus_t status =
      lt.MatmulAlgoGetHeuristic(library_.handle, operation_, a_, b_, out_, out_, preference.get(),
                                most, results.data(), &found);
  // Not supported for this type, shape or epilogue: the caller has a fallback.
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return {};
  check_library(lt, status, describe(p));
  std::vector<Algorithm> algorithms;
  for (std::size_t i = 0; i < static_cast<std::size_t>(found); ++i) {
    if (results[i].state == CUBLAS_STATUS_SUCCESS && results[i].workspaceSize <= limit) {
      algorithms.push_back(packed(results[i]));
    }
  }
  return algorithms;
}

bool ProductPlan::accepts(const Product& p, const Algorithm& algorithm) {
  point_to(p);
  const cublasLtMatmulAlgo_t algo = unpacked(algorithm);
  cublasLtMatmulHeuristicResult_t result{};
  return library_.lt->MatmulAlgoCheck(library_.handle, operation_, a_, b_, out_, out_, &algo,
                                      &result) == CUBLAS_STATUS_SUCCESS &&
         result.workspaceSize <= algorithm.workspace_bytes;
}

cublasStatus_t ProductPlan::launch(const Product& p, const Algorithm& algorithm, void* workspace,
                                   std::int64_t workspace_bytes, cudaStream_t stream) {
  point_to(p);
  const float alpha = 1, beta = p.accumulate ? 1 : 0;
  const cublasLtMatmulAlgo_t algo = unpacked(algorithm);
  return library_.lt->Matmul(library_.handle, operation_, &alpha, p.b.data, a_, p.a.data, b_, &beta,
                             p.out, out_, p.out, out_, &algo, workspace,
                             static_cast<std::size_t>(workspace_bytes), stream);
}

std::string ProductPlan::name_of(const Algorithm& algorithm) const {
  const cublasLtMatmulAlgo_t algo = unpacked(algorithm);
  const auto number = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
    std::uint32_t value = 0;
    std::size_t written = 0;
    const cublasStatus_t status =
        library_.lt->MatmulAlgoConfigGetAttribute(&algo, attribute, &value, sizeof value, &written);
    return status == CUBLAS_STATUS_SUCCESS ? fmt::format("{}", value) : std::string("?");
  };
  return fmt::format("cublasLt {}, tile {}, stages {}, split {}", number(CUBLASLT_ALGO_CONFIG_ID),
                     number(CUBLASLT_ALGO_CONFIG_TILE_ID), number(CUBLASLT_ALGO_CONFIG_STAGES_ID),
                     number(CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
}

}  // namespace ds::cuda
