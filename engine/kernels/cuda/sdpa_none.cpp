// Replaces sdpa_cudnn.cpp in builds without the headers of cuDNN's frontend.
#include "engine/base/error.h"
#include "engine/kernels/cuda/sdpa.h"

namespace ds::cuda {

bool sdpa_is_built() { return false; }

std::unique_ptr<Sdpa> make_sdpa(int, const std::string&) {
  throw Error(ErrorKind::config, "built without cuDNN's frontend",
              "run scripts/install_packages.sh build, which fetches its headers, then build again");
}

}  // namespace ds::cuda
