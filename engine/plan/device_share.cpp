// device_share_of(): intersects two lines: the link's time rises with the share, the memory's
// falls.
#include "engine/plan/device_share.h"

#include <algorithm>
#include <cmath>

namespace ds {
namespace {

constexpr double kLinkBytes = 12;    // master and two moments in f32, each way
constexpr double kStreamBytes = 24;  // read and written in host memory on the way
// Read and written in place, gradient read, 16-bit weights written.
constexpr double kHostBytes = 28;

}  // namespace

std::int64_t device_share_of(const Rates& rates) {
  if (rates.pcie <= 0 || rates.host <= 0) return 100;
  const double share = (kHostBytes / rates.host) /
                       (kLinkBytes / rates.pcie + (kHostBytes - kStreamBytes) / rates.host);
  return static_cast<std::int64_t>(std::lround(100 * std::min(share, 1.0)));
}

}  // namespace ds
