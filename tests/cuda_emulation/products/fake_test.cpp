// Tests that the fake cuBLASLt refuses what the real one refuses.
#include <optional>

#include "engine/kernels/cuda/product_plan.h"
#include "products_bench.h"

namespace ds::conformance {
namespace {

constexpr std::int64_t kWorkspace = 1 << 20;

/// A product of 16 x 16 x 512 in its own device memory.
class Call {
 public:
  Call() {
    REQUIRE(cudaMalloc(&memory_, 5 * kWorkspace) == cudaSuccess);
    library_.lt = &cuda::cublas_lt();
    REQUIRE(library_.lt->Create(&library_.handle) == CUBLAS_STATUS_SUCCESS);
    auto* const bytes = static_cast<std::byte*>(memory_);
    product = {.m = 16,
               .n = 16,
               .k = 512,
               .type = DType::bf16,
               .out_type = DType::bf16,
               .a = {bytes, 512},
               .b = {bytes + kWorkspace, 16},
               .out = bytes + 2 * kWorkspace,
               .out_row_length = 16};
    workspace = bytes + 3 * kWorkspace;
    extra = bytes + 4 * kWorkspace;
  }
  ~Call() {
    plan_.reset();
    CHECK(library_.lt->Destroy(library_.handle) == CUBLAS_STATUS_SUCCESS);
    CHECK(cudaFree(memory_) == cudaSuccess);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  cuda::ProductPlan& plan() { return plan_.emplace(library_, product); }
  std::vector<cuda::Algorithm> candidates() { return plan().candidates(product, kWorkspace, 8); }

  cuda::Product product;
  void *workspace = nullptr, *extra = nullptr;

 private:
  void* memory_ = nullptr;
  cuda::ProductLibrary library_;
  std::optional<cuda::ProductPlan> plan_;
};

}  // namespace

TEST_CASE("fake cuBLASLt: what it has no algorithm for") {
  const auto refused = [](auto change) {
    Call call;
    REQUIRE(call.candidates().size() == 2);
    change(call);
    return call.candidates().empty();
  };
  CHECK(refused([](Call& c) { c.product.out_row_length = 15; }));
  CHECK(refused([](Call& c) { c.product.a.row_length = 511; }));
  CHECK(refused([](Call& c) { c.product.type = DType::f32; }));
  CHECK(refused([](Call& c) { c.product.out_type = DType::f16; }));
  CHECK(refused([](Call& c) { c.product.n = 0; }));
  // Columns of auxiliary matrices must be multiples of 8 elements and 16 bytes.
  CHECK(refused([](Call& c) {
    c.product.n = c.product.out_row_length = c.product.b.row_length = 12;
    c.product.epilogue = cuda::ProductEpilogue::gelu_slope;
    c.product.extra = c.extra;
  }));
  CHECK(refused([](Call& c) {
    c.product.epilogue = cuda::ProductEpilogue::gelu_slope;
    c.product.extra = static_cast<std::byte*>(c.extra) + 2;
  }));
  CHECK(refused([](Call& c) {
    c.product.epilogue = cuda::ProductEpilogue::bias;
    c.product.extra = static_cast<std::byte*>(c.extra) + 2;
  }));
  CHECK_FALSE(refused([](Call& c) {
    c.product.epilogue = cuda::ProductEpilogue::bias;
    c.product.extra = c.extra;
  }));
  CHECK(refused([](Call& c) {
    c.product.n = c.product.out_row_length = c.product.b.row_length = 12;
    c.product.epilogue = cuda::ProductEpilogue::gelu;
    c.product.second = c.extra;
  }));
  CHECK(refused([](Call& c) {
    c.product.epilogue = cuda::ProductEpilogue::gelu;
    c.product.second = static_cast<std::byte*>(c.extra) + 8;
  }));
  CHECK(refused([](Call& c) {
    c.product.epilogue = cuda::ProductEpilogue::bias_gelu;
    c.product.second = c.extra;  // and no bias
  }));
  CHECK_FALSE(refused([](Call& c) {
    c.product.epilogue = cuda::ProductEpilogue::gelu;
    c.product.second = c.extra;
  }));
  CHECK(refused([](Call& c) {  // f32 sums of a 16-bit result
    c.product.epilogue = cuda::ProductEpilogue::column_sums;
    c.product.second = c.extra;
  }));
  CHECK_FALSE(refused([](Call& c) {
    c.product.out_type = DType::f32;
    c.product.epilogue = cuda::ProductEpilogue::column_sums;
    c.product.second = c.extra;
  }));
}

TEST_CASE("fake cuBLASLt: launches that it refuses") {
  Call call;
  const cuda::Algorithm fast = call.candidates().front(), slow = call.candidates().back();
  REQUIRE(fast.workspace_bytes > 0);
  const auto launch = [&](const cuda::Product& p, const cuda::Algorithm& algorithm,
                          std::int64_t bytes) {
    return call.plan().launch(p, algorithm, call.workspace, bytes, nullptr);
  };
  CHECK(launch(call.product, fast, kWorkspace) == CUBLAS_STATUS_SUCCESS);
  CHECK(launch(call.product, fast, 16) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(launch(call.product, {}, kWorkspace) == CUBLAS_STATUS_INVALID_VALUE);

  cuda::Product shifted = call.product;
  shifted.a.data = static_cast<const std::byte*>(shifted.a.data) + 2;
  CHECK(launch(shifted, fast, kWorkspace) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(launch(shifted, slow, kWorkspace) == CUBLAS_STATUS_SUCCESS);

  call.product.m = 8;  // the algorithms belong to another shape
  CHECK(launch(call.product, fast, kWorkspace) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK_FALSE(call.plan().accepts(call.product, fast));
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("fake cuBLASLt: access to other memory ends the device") {
  Call call;
  const cuda::Algorithm fast = call.candidates().front();
  std::vector<std::byte> host(1 << 15);
  cuda::Product product = call.product;
  product.a.data = host.data() + (16 - reinterpret_cast<std::uintptr_t>(host.data()) % 16) % 16;
  // The fault shows when the launch runs: in this call or a later one.
  const cublasStatus_t status =
      call.plan().launch(product, fast, call.workspace, kWorkspace, nullptr);
  CHECK((status == CUBLAS_STATUS_SUCCESS || status == CUBLAS_STATUS_EXECUTION_FAILED));
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  emulation::reset_faults();
}

}  // namespace ds::conformance
