// Tests products where the library has no algorithm, refuses the one that it named, or fails; at
// other addresses; and with algorithms stored by an earlier run.
#include <filesystem>
#include <fstream>

#include "products_bench.h"

namespace ds::conformance {
namespace {

struct Sizes {
  std::int64_t rows, k, n;
};
constexpr Sizes kSizes[] = {{64, 32, 48}, {300, 264, 40}, {33, 65, 17}, {1, 8, 8}};

std::size_t u(std::int64_t x) { return static_cast<std::size_t>(x); }

Kernels::Extents extents_of(const Sizes& s, DType act) {
  return {.micro = 1, .seq_len = s.rows, .width = s.k, .ffn = s.n, .act = act};
}

struct Tensors {
  Tensors(const Sizes& s, DType act)
      : in(random_buffer(act, {s.rows, s.k}, 1)),
        weight(random_buffer(act, {s.k, s.n}, 2)),
        bias(random_buffer(act, {s.n}, 3)),
        dout(random_buffer(act, {s.rows, s.n}, 4)),
        pre_in(random_buffer(act, {s.rows, s.k}, 5, 2)),
        out(act, {s.rows, s.n}),
        pre(act, {s.rows, s.n}),
        din(act, {s.rows, s.k}),
        dweight(DType::f32, {s.k, s.n}),
        dbias(DType::f32, {s.n}) {}
  Buffer in, weight, bias, dout, pre_in, out, pre, din, dweight, dbias;

  Linear forward() {
    return {.in = in.view(), .weight = weight.view(), .bias = bias.view(), .out = out.tensor()};
  }
  LinearBackwardInput input_gradient() {
    return {
        .dout = dout.view(), .weight = weight.view(), .pre = pre_in.view(), .din = din.tensor()};
  }
  LinearBackwardWeight weight_gradient() {
    return {
        .in = in.view(), .dout = dout.view(), .dweight = dweight.tensor(), .dbias = dbias.tensor()};
  }
};

void check_all(ProductsBench& bench, const Sizes& s, DType act) {
  Tensors t(s, act);
  Linear forward = t.forward();
  bench.run(forward);
  check_close("out", t.out,
              reference::linear(t.in.values(), t.weight.values(), t.bias.values(), u(s.k)), act);
  forward.bias = {};
  bench.run(forward);
  const Values plain =
      reference::product(t.in.values(), t.weight.values(), u(s.rows), u(s.k), u(s.n));
  check_close("out without bias", t.out, plain, act);
  bench.run(t.input_gradient());
  check_close("din", t.din,
              reference::linear_backward_input(t.dout.values(), t.weight.values(), u(s.k), u(s.n),
                                               t.pre_in.values()),
              act);
  LinearBackwardWeight gradient = t.weight_gradient();
  bench.run(gradient);
  gradient.accumulate = true;
  bench.run(gradient);
  Values dweight = reference::product(reference::transposed(t.in.values(), u(s.rows), u(s.k)),
                                      t.dout.values(), u(s.k), u(s.rows), u(s.n));
  Values dbias = reference::column_sums(t.dout.values(), u(s.n));
  for (double& x : dweight) x *= 2;
  for (double& x : dbias) x *= 2;
  check_close("dweight twice", t.dweight, dweight, DType::f32);
  check_close("dbias twice", t.dbias, dbias, DType::f32);
}

/// Returns the bits of all results of one set of products.
std::string bits_of(ProductsBench& bench, const Sizes& s, DType act) {
  Tensors t(s, act);
  Linear gelu = t.forward();
  gelu.pre = t.pre.tensor();
  gelu.epilogue = Linear::Epilogue::activation;
  bench.run(gelu);
  bench.run(t.input_gradient());
  bench.run(t.weight_gradient());
  return t.out.bits() + t.pre.bits() + t.din.bits() + t.dweight.bits() + t.dbias.bits();
}

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "algorithmsXXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path;
};

}  // namespace

TEST_CASE("products: every fallback is right, whatever the library supports") {
  for (const char* const name : {"", "none", "no-epilogue", "broken-first"}) {
    CAPTURE(name);
    const Behaviour behaviour(name);
    for (const DType act : kActTypes) {
      CAPTURE(name_of(act));
      for (const Sizes& s : kSizes) {
        CAPTURE(s.k);
        ProductsBench bench(extents_of(s, act));
        check_all(bench, s, act);
        const std::string way(name);
        CHECK((bench.named("own plain product") > 0) == (way == "none"));
        if (way == "none" || way == "no-epilogue") CHECK(bench.named("without its epilogue") > 0);
        CHECK(bench.named("cublasLt 99") == 0);
        if (way.empty() && s.rows == 64) CHECK(bench.named("cublasLt 66") == bench.names().size());
      }
    }
  }
}

TEST_CASE("products: GELU's slope is fused for bf16 alone") {
  const Sizes s{64, 32, 48};
  for (const DType act : kActTypes) {
    ProductsBench bench(extents_of(s, act));
    Tensors t(s, act);
    bench.run(t.input_gradient());
    CHECK(bench.named("GELU's slope: cublasLt 66") == (act == DType::bf16 ? 1U : 0U));
  }
}

TEST_CASE("products: a failure names the product and the library's reason") {
  const Sizes s{64, 32, 48};
  ProductsBench bench(extents_of(s, DType::bf16));
  const Behaviour behaviour("fail");
  Tensors t(s, DType::bf16);
  try {
    bench.run(t.forward());
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::system);
    const std::string what = error.what();
    CHECK(what.find("bf16 64 x 48 x 32") != std::string::npos);
    CHECK(what.find("CUBLAS_STATUS_EXECUTION_FAILED") != std::string::npos);
  }
}

TEST_CASE("products: the same bits at any address and in any order of streams") {
  for (const DType act : kActTypes) {
    for (const Sizes& s : kSizes) {
      CAPTURE(s.k);
      ProductsBench first(extents_of(s, act));
      const std::string bits = bits_of(first, s, act);
      // Shifts by 16, 32 and 48 bytes.
      for (const std::int64_t words : {1, 2, 3}) {
        const std::int64_t shift = words * 16 / size_of(act);
        ProductsBench bench(extents_of(s, act), {.seed = u(words) + 4, .shift = shift});
        CHECK((bits_of(bench, s, act) == bits));
        CHECK(bench.names() == first.names());
      }
    }
  }
}

TEST_CASE("products: algorithms are stored in a file and read from it") {
  const Folder folder;
  const Sizes s{300, 264, 40};
  ProductsBench first(extents_of(s, DType::bf16), {}, folder.path);
  const std::string bits = bits_of(first, s, DType::bf16);
  REQUIRE(first.named("cublasLt 66") == 3);

  const Behaviour behaviour("none");  // the library itself would now have no algorithm
  {
    ProductsBench again(extents_of(s, DType::bf16), {}, folder.path);
    CHECK((bits_of(again, s, DType::bf16) == bits));
    CHECK(again.names() == first.names());
  }
  for (const auto& file : std::filesystem::directory_iterator(folder.path)) {
    std::ofstream(file.path(), std::ios::app) << "damaged";
  }
  ProductsBench without(extents_of(s, DType::bf16), {}, folder.path);
  Tensors t(s, DType::bf16);
  without.run(t.forward());
  CHECK(without.named("own plain product") == 1);
}

TEST_CASE("products: with algorithms chosen by time, an accumulating sum still runs once") {
  ::setenv("DSLAUNCH_TIME_PRODUCTS", "1", 1);
  for (const char* const name : {"", "broken-first", "none"}) {
    const Behaviour behaviour(name);
    for (const DType act : kActTypes) {
      const Sizes s{64, 32, 48};
      ProductsBench bench(extents_of(s, act));
      Tensors t(s, act);
      t.dweight = Buffer::of(DType::f32, {s.k, s.n}, Values(u(s.k * s.n), 1.0));
      t.dbias = Buffer::of(DType::f32, {s.n}, Values(u(s.n), 2.0));
      LinearBackwardWeight gradient = t.weight_gradient();
      gradient.accumulate = true;
      bench.run(gradient);
      Values want = reference::product(reference::transposed(t.in.values(), u(s.rows), u(s.k)),
                                       t.dout.values(), u(s.k), u(s.rows), u(s.n));
      for (double& x : want) x += 1;
      check_close("dweight", t.dweight, want, DType::f32);
      check_all(bench, s, act);
    }
  }
  ::unsetenv("DSLAUNCH_TIME_PRODUCTS");
}

TEST_CASE("products: the matrix peak") {
  for (const DType act : {DType::bf16, DType::f32}) {
    ProductsBench bench(extents_of({64, 32, 48}, act));
    cudaStream_t stream = nullptr;
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK(cuda::measure_matrix_peak(bench.context(), act, stream) > 0);
    CHECK(cudaStreamDestroy(stream) == cudaSuccess);
    CHECK(emulation::fault() == "");
  }
}

}  // namespace ds::conformance
