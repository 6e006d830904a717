// Tests which implementation makes an accelerator's products, so that a slow fallback is noticed.
#include "conformance/harness.h"

namespace ds::conformance {

TEST_CASE("an accelerator multiplies whole vectors by its library, with epilogues") {
  for_each_subject([](const Subject& subject, DType act) {
    if (!subject.options.accelerator) return;
    const std::int64_t rows = 320, k = 192, n = 448;
    Bench bench(subject.options, {.micro = 1, .seq_len = rows, .width = k, .ffn = n, .act = act});
    Buffer in = random_buffer(act, {rows, k}, 1), weight = random_buffer(act, {k, n}, 2),
           bias = random_buffer(act, {n}, 3), dout = random_buffer(act, {rows, n}, 4);
    Buffer out(act, {rows, n}), din(act, {rows, k});
    Buffer dweight(DType::f32, {k, n}), dbias(DType::f32, {n});
    bench.run(
        Linear{.in = in.view(), .weight = weight.view(), .bias = bias.view(), .out = out.tensor()});
    bench.run(LinearBackwardInput{
        .dout = dout.view(), .weight = weight.view(), .pre = in.view(), .din = din.tensor()});
    bench.run(LinearBackwardWeight{.in = in.view(),
                                   .dout = dout.view(),
                                   .dweight = dweight.tensor(),
                                   .dbias = dbias.tensor()});
    int found = 0;
    for (const std::string& name : bench.kernels().product_implementations()) {
      const bool ours = name.find("320 x 448 x 192") != std::string::npos ||
                        name.find("320 x 192 x 448") != std::string::npos ||
                        name.find("192 x 448 x 320") != std::string::npos;
      if (!ours || name.rfind(name_of(act), 0) != 0) continue;
      CAPTURE(name);
      CHECK(name.find("cublasLt ") != std::string::npos);
      ++found;
    }
    CHECK(found == 3);
  });
}

}  // namespace ds::conformance
