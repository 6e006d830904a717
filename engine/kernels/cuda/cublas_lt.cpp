// Fills the table of cuBLASLt's functions.
#include "engine/kernels/cuda/cublas_lt.h"

#include "engine/device/cuda/libraries.h"

namespace ds::cuda {

const CublasLt& cublas_lt() {
  static const CublasLt table = [] {
    const Library& library = cublas_lt_library();
    CublasLt lt;
    library.bind(lt.Create, "cublasLtCreate");
    library.bind(lt.Destroy, "cublasLtDestroy");
    library.bind(lt.GetVersion, "cublasLtGetVersion");
    library.bind(lt.GetStatusName, "cublasLtGetStatusName");
    library.bind(lt.GetStatusString, "cublasLtGetStatusString");
    library.bind(lt.MatmulDescCreate, "cublasLtMatmulDescCreate");
    library.bind(lt.MatmulDescDestroy, "cublasLtMatmulDescDestroy");
    library.bind(lt.MatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute");
    library.bind(lt.MatrixLayoutCreate, "cublasLtMatrixLayoutCreate");
    library.bind(lt.MatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy");
    library.bind(lt.MatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate");
    library.bind(lt.MatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy");
    library.bind(lt.MatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute");
    library.bind(lt.MatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic");
    library.bind(lt.MatmulAlgoCheck, "cublasLtMatmulAlgoCheck");
    library.bind(lt.MatmulAlgoConfigGetAttribute, "cublasLtMatmulAlgoConfigGetAttribute");
    library.bind(lt.Matmul, "cublasLtMatmul");
    return lt;
  }();
  return table;
}

}  // namespace ds::cuda
