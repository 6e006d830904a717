// The device of the backend that $DS_TEST_BACKEND names.
#include "conformance/accelerator.h"
#include "conformance/bench.h"
#include "conformance/device_under_test.h"

namespace ds::conformance {

Device& device_under_test() {
  if (on_accelerator()) {
    require_accelerator();
    return *accelerator_backend()->device;
  }
  static const Backend cpu = make_cpu_backend({.threads = 1});
  return *cpu.device;
}

}  // namespace ds::conformance
