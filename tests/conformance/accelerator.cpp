// The accelerator under test: opens the plugin once.
#include "conformance/accelerator.h"

#include <doctest/doctest.h>

#include "engine/plugin/plugin.h"

namespace ds::conformance {

void require_accelerator() {
  const Plugin& plugin = open_cuda_plugin();
  INFO(plugin.report());
  REQUIRE_MESSAGE(plugin.device_count() > 0, "DS_TEST_BACKEND=cuda, but there is no CUDA device");
}

std::shared_ptr<Backend> accelerator_backend() {
  static auto* backend = new std::shared_ptr<Backend>(
      std::make_shared<Backend>(open_cuda_plugin().make_backend(AcceleratorOptions{})));
  return *backend;
}

}  // namespace ds::conformance
