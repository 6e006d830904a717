// Products: chooses an algorithm once per shape, and launches.
#include "engine/kernels/cuda/products.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "engine/device/cuda/check.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/cuda/product_kernels.h"
#include "engine/kernels/cuda/stopwatch.h"

namespace ds::cuda {
namespace {

constexpr int kCandidates = 8;

/// A problem with the cache causes a warning, never an error.
void warn(const std::string& reason) {
  if (!reason.empty()) {
    std::fprintf(stderr, "matrix products: cannot use the file of chosen algorithms: %s\n",
                 reason.c_str());
  }
}

/// Returns whether the status depends on the product, so that another algorithm may work.
bool may_try_another(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
         status == CUBLAS_STATUS_ARCH_MISMATCH;
}

void run_plain(const Product& p, cudaStream_t stream) {
  const auto operand = [](const ProductOperand& o) {
    return PlainProduct::Operand{.data = o.data,
                                 .row = o.transposed ? 1 : o.row_length,
                                 .column = o.transposed ? o.row_length : 1};
  };
  check(launch_plain_product(act_of(p.type), p.out_type == DType::f32,
                             {.a = operand(p.a),
                              .b = operand(p.b),
                              .out = p.out,
                              .out_row = p.out_row_length,
                              .m = p.m,
                              .n = p.n,
                              .k = p.k,
                              .accumulate = p.accumulate},
                             stream),
        "a plain matrix product");
}

/// An accumulating sum must not run twice, and trial runs must not be captured in a graph.
bool may_run_again(const Product& p, cudaStream_t stream) {
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &capturing), "checking whether a graph is being recorded");
  return !p.accumulate && capturing == cudaStreamCaptureStatusNone;
}

/// Returns the candidates that launch, fastest first.
std::vector<Algorithm> by_time(ProductPlan& plan, const Product& p,
                               const std::vector<Algorithm>& candidates, std::byte* workspace,
                               cudaStream_t stream) {
  constexpr int kTimes = 5;
  Stopwatch watch;
  std::vector<std::pair<float, Algorithm>> timed;
  for (const Algorithm& candidate : candidates) {
    const auto run = [&] {
      return plan.launch(p, candidate, workspace, kProductWorkspace, stream) ==
             CUBLAS_STATUS_SUCCESS;
    };
    if (!run()) continue;
    bool launched = true;
    const float ms = watch.milliseconds(stream, [&] {
      for (int i = 0; i < kTimes; ++i) launched = run() && launched;
    });
    if (launched) timed.emplace_back(ms, candidate);
  }
  std::stable_sort(timed.begin(), timed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Algorithm> sorted;
  for (const auto& [ms, algorithm] : timed) sorted.push_back(algorithm);
  return sorted;
}

}  // namespace

Products::Products(const CublasLt& lt, Choice choice)
    : choice_(std::move(choice)),
      cache_(fmt::format("{}, cublasLt {}", choice_.device, lt.GetVersion())) {
  library_.lt = &lt;
  const cublasStatus_t status = lt.Create(&library_.handle);
  if (status != CUBLAS_STATUS_SUCCESS) raise_library(lt, status, "creating a handle");
  if (!choice_.cache_dir.empty()) warn(cache_.load(choice_.cache_dir));
}

Products::~Products() {
  known_.clear();
  library_.lt->Destroy(library_.handle);
}

bool Products::run(const Product& p, std::byte* workspace, cudaStream_t stream) {
  bool launched = false;
  Known& it = known(p, workspace, stream, launched);
  if (launched) return true;
  if (it.algorithm != nullptr) {
    const cublasStatus_t status =
        it.plan->launch(p, *it.algorithm, workspace, kProductWorkspace, stream);
    if (status != CUBLAS_STATUS_SUCCESS) raise_library(*library_.lt, status, describe(p));
    return true;
  }
  if (p.epilogue != ProductEpilogue::none) return false;
  run_plain(p, stream);
  return true;
}

Products::Known& Products::known(const Product& p, std::byte* workspace, cudaStream_t stream,
                                 bool& launched) {
  const ProductKey key = key_of(p, kProductWorkspace);
  const auto [at, is_new] = known_.try_emplace(key);
  if (is_new) {
    try {
      choose(at->second, key, p, workspace, stream, launched);
    } catch (...) {
      known_.erase(at);
      throw;
    }
  }
  return at->second;
}

void Products::choose(Known& made, const ProductKey& key, const Product& p, std::byte* workspace,
                      cudaStream_t stream, bool& launched) {
  made.plan = std::make_unique<ProductPlan>(library_, p);
  const Algorithm* kept = cache_.find(key);
  if (kept != nullptr && made.plan->accepts(p, *kept)) {
    made.algorithm = kept;
  } else {
    std::vector<Algorithm> candidates = made.plan->candidates(p, kProductWorkspace, kCandidates);
    if (choice_.by_time && may_run_again(p, stream)) {
      candidates = by_time(*made.plan, p, candidates, workspace, stream);
    }
    // Takes the first that launches: an algorithm may still refuse what its description allowed.
    for (const Algorithm& candidate : candidates) {
      const cublasStatus_t status =
          made.plan->launch(p, candidate, workspace, kProductWorkspace, stream);
      if (status != CUBLAS_STATUS_SUCCESS && may_try_another(status)) continue;
      if (status != CUBLAS_STATUS_SUCCESS) raise_library(*library_.lt, status, describe(p));
      launched = true;
      made.algorithm = &cache_.put(key, candidate);
      if (!choice_.cache_dir.empty()) warn(cache_.save(choice_.cache_dir));
      break;
    }
  }
  const std::string way = made.algorithm != nullptr ? made.plan->name_of(*made.algorithm)
                          : p.epilogue == ProductEpilogue::none ? "own plain product"
                                                                : "without its epilogue";
  names_.push_back(fmt::format("{}: {}", describe(p), way));
}

void multiply(Context& c, const Product& product, std::byte* workspace, cudaStream_t stream) {
  auto& products = static_cast<Products&>(*c.products);
  if (products.run(product, workspace, stream)) return;
  Product plain = product;
  plain.epilogue = ProductEpilogue::none;
  plain.extra = nullptr;
  const bool done = products.run(plain, workspace, stream);
  DS_ASSERT(done);
  if (product.epilogue == ProductEpilogue::bias) {
    check(launch_add_bias({act_of(product.out_type), product.m, product.n, product.out_row_length},
                          product.out, product.extra, stream),
          "adding a bias");
    return;
  }
  DS_ASSERT(product.out_row_length == product.n);
  const Shape shape{product.m, product.n};
  run(c,
      ActivateBackward{.pre = {product.extra, product.out_type, shape},
                       .dout = {product.out, product.out_type, shape},
                       .din = {product.out, product.out_type, shape}},
      stream);
}

std::unique_ptr<Part> make_products(const Context& c) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, c.facts.device), "reading the device's name");
  const char* const timed = std::getenv("DSLAUNCH_TIME_PRODUCTS");
  return std::make_unique<Products>(
      cublas_lt(),
      Products::Choice{.device = fmt::format("{}, {}.{}, {} multiprocessors", properties.name,
                                             c.facts.compute_major, c.facts.compute_minor,
                                             c.facts.multiprocessors),
                       .cache_dir = c.cache_dir,
                       .by_time = timed != nullptr && std::string_view(timed) == "1",
                       .fused_epilogues = c.fused_epilogues});
}

}  // namespace ds::cuda
