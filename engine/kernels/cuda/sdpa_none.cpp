// Stands in for sdpa_cudnn.cpp where the headers of cuDNN's frontend were not found.
#include "engine/base/error.h"
#include "engine/kernels/cuda/sdpa.h"

namespace ds::cuda {

bool sdpa_is_built() { return false; }

std::unique_ptr<Sdpa> make_sdpa(int, const std::string&) {
  throw Error(ErrorKind::config, "built without cuDNN's frontend",
              "scripts/install_packages.sh build fetches its headers; then build again");
}

}  // namespace ds::cuda
