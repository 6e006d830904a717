// Tests of new weights: any piece of a tensor has its numbers, and columns may deviate otherwise.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/kernels/kernels.h"
#include "engine/states/state_source.h"

using namespace ds;  // NOLINT: the tests of one folder

TEST_CASE("the first columns of a tensor may have another deviation; pieces agree") {
  constexpr std::int64_t kRows = 64, kColumns = 96, kFirst = 32;
  const Backend backend = make_cpu_backend({.threads = 1});
  const auto stream = backend.device->make_stream();
  NewWeights source(7, *backend.kernels, *stream);
  ParamTensor tensor{.name = "qkv",
                     .shape = {kRows, kColumns},
                     .init = {.kind = ParamInit::Kind::normal, .standard_deviation = 0.5F}};
  std::vector<float> plain(kRows * kColumns), whole(plain.size()), piece(1000);
  source.read(tensor, kMaster, 0, plain);
  tensor.init.first_columns = kFirst;
  tensor.init.factor = 0.25F;
  source.read(tensor, kMaster, 0, whole);
  double squares = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const bool is_first = i % kColumns < kFirst;
    CHECK(whole[i] == plain[i] * (is_first ? 0.25F : 1.0F));
    if (is_first) squares += static_cast<double>(whole[i]) * static_cast<double>(whole[i]);
  }
  CHECK(std::sqrt(squares / (kRows * kFirst)) == doctest::Approx(0.125).epsilon(0.05));
  source.read(tensor, kMaster, 777, piece);
  CHECK(std::equal(piece.begin(), piece.end(), whole.begin() + 777));
}
