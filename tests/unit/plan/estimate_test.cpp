// Tests of DeepSpeed's estimators against its documentation's figures for t5-3b and against hand
// counts.
#include <doctest/doctest.h>

#include <cmath>

#include "engine/plan/deepspeed_estimate.h"

using namespace ds;  // NOLINT: the tests of one file

namespace {

double gib(double bytes) { return bytes / (1 << 30); }

const Estimate& find(const std::vector<Estimate>& all, int stage, bool optimizer, bool param,
                     bool zero_init = true) {
  for (const Estimate& e : all) {
    if (e.stage == stage && e.offload_optimizer == optimizer && e.offload_param == param &&
        e.zero_init == zero_init)
      return e;
  }
  FAIL("no such estimate");
  return all.front();
}

// Figures are printed with 2 digits.
void check_gib(double bytes, double printed) { CHECK(std::abs(gib(bytes) - printed) < 0.0075); }

}  // namespace

TEST_CASE("t5-3b on one node of 8 GPUs, as DeepSpeed's documentation prints it") {
  // 2851 M parameters; the largest layer, 32 M, is the shared embedding of 32128 x 1024.
  const std::vector<Estimate> all = deepspeed_estimates(
      {.parameters = 2'851'598'336, .largest_layer = 32128 * 1024, .nodes = 1, .gpus_per_node = 8});
  CHECK(all.size() == 8);
  const Estimate& zero2_offload = find(all, 2, true, false);
  check_gib(zero2_offload.gpu_bytes, 5.31);
  check_gib(zero2_offload.cpu_bytes, 127.48);
  const Estimate& zero2 = find(all, 2, false, false);
  check_gib(zero2.gpu_bytes, 11.28);
  check_gib(zero2.cpu_bytes, 127.48);

  const Estimate& both = find(all, 3, true, true);
  check_gib(both.cpu_bytes, 71.71);
  check_gib(both.gpu_bytes, 0.12);
  check_gib(find(all, 3, true, true, false).cpu_bytes, 127.48);
  const Estimate& optimizer = find(all, 3, true, false);
  check_gib(optimizer.cpu_bytes, 63.74);
  check_gib(optimizer.gpu_bytes, 0.79);
  const Estimate& none = find(all, 3, false, false);
  check_gib(none.cpu_bytes, 1.47);
  check_gib(none.gpu_bytes, 6.10);
  check_gib(find(all, 3, false, false, false).cpu_bytes, 127.48);
}

TEST_CASE("several nodes share what stage 3 keeps in host memory") {
  const std::vector<Estimate> all = deepspeed_estimates(
      {.parameters = 1000, .largest_layer = 10, .nodes = 2, .gpus_per_node = 4});
  CHECK(find(all, 2, true, false).cpu_bytes == doctest::Approx(1000 * 32 * 1.5));
  CHECK(find(all, 2, false, false).gpu_bytes == doctest::Approx(2000 + 18000.0 / 8));
  CHECK(find(all, 3, true, true).cpu_bytes == doctest::Approx(18 * 500 * 1.5));
  CHECK(find(all, 3, true, true, false).cpu_bytes == doctest::Approx(16 * 1000 * 1.5));
  CHECK(find(all, 3, false, false).gpu_bytes == doctest::Approx(40 + 18000.0 / 8));
}
