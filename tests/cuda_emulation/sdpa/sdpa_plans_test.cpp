// Tests that cuDNN, told of an H200 and an A100, accepts every attention that we choose it for, and
// that its plans fit in the reserved scratch. The driver is fake, so nothing runs.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "engine/base/error.h"
#include "engine/device/cuda/libraries.h"
#include "engine/kernels/cuda/sdpa.h"

namespace ds::cuda {
namespace {

/// Returns a device in the form of cuDNN's CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION.
std::string device_json(int compute_capability) {
  const bool hopper = compute_capability == 90;
  return fmt::format(
      R"({{"deviceName": "{}", "cudaDeviceId": 0, "deviceVer": {}0, "multiProcessorCount": {},
"driverVer": 13000, "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": {},
"reservedSharedMemoryPerBlock": 1024, "totalGlobalMem": {}, "maxGridSize": [2147483647, 65535, 65535],
"maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
"smClockRateKHz": {}, "memClockRateKHz": 2619000, "l2CacheSize": {}, "warpSize": 32,
"pciDeviceId": {}, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
"isTccDriver": 0, "supportCoopLaunch": 1, "smCountOrigin": 0, "memoryBusWidth": {},
"oversizedSharedMemoryPerBlock": 0}})",
      hopper ? "NVIDIA H200" : "NVIDIA A100-SXM4-80GB", compute_capability, hopper ? 132 : 108,
      hopper ? 232448 : 166912, hopper ? 150000000000 : 85000000000, hopper ? 1980000 : 1410000,
      hopper ? 62914560 : 41943040, hopper ? 590684382 : 548540638, hopper ? 6144 : 5120);
}

/// Skips the test without cuDNN, which plans the graphs.
void require_cudnn() {
  static const bool driver = dlopen(DS_FAKE_DRIVER, RTLD_NOW | RTLD_GLOBAL) != nullptr;
  REQUIRE(driver);
  try {
    (void)cudnn_library();
  } catch (const Error& error) {
    fmt::print("skip: {}\n", error.what());
    std::fflush(stdout);
    std::exit(77);
  }
}

struct Case {
  std::int64_t batch, heads, kv_heads, seq_len, head_size;
  bool causal = true;
  std::int64_t window = 0, keys = 0;  // keys: of another tensor; 0: the queries' own
  DType act = DType::bf16;
};

AttentionProblem problem_of(const Case& c) {
  return {.act = c.act,
          .batch = c.batch,
          .heads = c.heads,
          .kv_heads = c.kv_heads,
          .seq_len = c.seq_len,
          .key_len = c.keys == 0 ? c.seq_len : c.keys,
          .head_size = c.head_size,
          .window = c.window,
          .scale = 0.125F,
          .cross = c.keys != 0,
          .causal = c.causal};
}

/// GPT-2, Llama and Mistral's window at their sizes, T5's cross-attention, and edge cases of the
/// choice.
const std::vector<Case> kCases{{8, 12, 12, 1024, 64},
                               {1, 32, 8, 8192, 128},
                               {1, 32, 8, 32768, 128},
                               {2, 8, 2, 130, 72},
                               {2, 4, 4, 2, 8},
                               {3, 4, 1, 65, 128, true, 0, 0, DType::f16},
                               {1, 32, 8, 8192, 128, true, 4096},
                               {16, 8, 8, 150, 64, false, 0, 512},
                               {2, 8, 2, 333, 72, true, 40}};

void check_plans(int compute_capability) {
  require_cudnn();
  setenv(kSdpaLimitVariable, std::to_string(kMostSdpaWorkspaceBytes).c_str(), 0);
  const std::unique_ptr<Sdpa> sdpa = make_sdpa(compute_capability, device_json(compute_capability));
  for (const Case& c : kCases) {
    if (compute_capability != 90 && c.heads == c.kv_heads) continue;  // saves time
    CAPTURE(c.seq_len);
    const AttentionProblem p = problem_of(c);
    const SdpaSupport support{
        .cudnn_version = sdpa->version(), .missing = {}, .compute_major = compute_capability / 10};
    if (!choose_attention(p, support, AttentionWish::automatic).cudnn) {
      MESSAGE("left out with this cuDNN: " << c.seq_len << " positions");
      continue;
    }
    for (const SdpaPass pass : {SdpaPass::forward, SdpaPass::backward}) {
      const std::int64_t bytes = sdpa->workspace_bytes(pass, p);
      CHECK(bytes >= 0);
      CHECK(bytes <= sdpa_workspace_bytes(p, support));
      CHECK_FALSE(sdpa->name(pass, p).empty());
      const std::int64_t probabilities = 2 * p.batch * p.heads * p.seq_len * p.key_len;
      if (pass == SdpaPass::backward && probabilities <= kMostSdpaWorkspaceBytes)
        CHECK(bytes >= probabilities);  // their gradients: it is deterministic
    }
  }
}

}  // namespace

TEST_CASE("cuDNN plans our attention for an H200 within the reserved scratch") { check_plans(90); }
TEST_CASE("cuDNN plans our attention for an A100 within the reserved scratch") { check_plans(80); }

TEST_CASE("cuDNN refuses problems it is not chosen for, with a reason") {
  require_cudnn();
  const std::unique_ptr<Sdpa> sdpa = make_sdpa(90, device_json(90));
  const AttentionProblem p = problem_of({1, 2, 2, 64, 12});
  CHECK_THROWS_AS((void)sdpa->workspace_bytes(SdpaPass::backward, p), Error);
}

}  // namespace ds::cuda
