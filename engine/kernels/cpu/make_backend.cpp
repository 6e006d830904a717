// Assembles the CPU backend: selects the instruction set, starts the pool, forwards calls of the
// Kernels interface.
#include <algorithm>

#include "engine/base/error.h"
#include "engine/device/cpu/cpu_device.h"
#include "engine/kernels/cpu/onednn_threads.h"
#include "engine/kernels/cpu/ops.h"

namespace ds {
namespace {

struct InstructionSet {
  const cpu::VectorKernels* kernels;
  const char* name;
};

InstructionSet pick_instruction_set(const std::string& wanted) {
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c");
  if (wanted != "auto" && wanted != "avx512" && wanted != "avx2") {
    throw Error(ErrorKind::config, fmt::format("unknown instruction set \"{}\"", wanted),
                "use auto, avx512 or avx2");
  }
  if (wanted == "avx512" && !avx512) {
    throw Error(ErrorKind::config, "this CPU has no AVX-512 (F, BW, VL, DQ)",
                "use isa auto or avx2");
  }
  if (!avx2)
    throw Error(ErrorKind::config, "this CPU has neither AVX2 with FMA and F16C nor AVX-512");
  if (avx512 && wanted != "avx2") return {&avx512::vector_kernels(), "AVX-512"};
  return {&avx2::vector_kernels(), "AVX2"};
}

class CpuKernels final : public Kernels {
 public:
  CpuKernels(int threads, const cpu::VectorKernels& vector, std::string arithmetic)
      : arithmetic_(std::move(arithmetic)),
        pool_(threads, cpu::use_one_onednn_thread),
        products_(threads),
        context_{.pool = pool_,
                 .vector = vector,
                 .products = products_,
                 .bf16_products = cpu::has_bf16_products()} {}

  [[nodiscard]] std::string arithmetic() const override { return arithmetic_; }

  [[nodiscard]] std::size_t workspace_bytes(const Extents& e) const override {
    return std::max(
        {cpu::linear_scratch_bytes(context_, e), cpu::attention_scratch_bytes(context_, e),
         cpu::head_scratch_bytes(context_, e), cpu::layer_norm_scratch_bytes(e),
         cpu::rotary_scratch_bytes(context_, e), cpu::head_norm_scratch_bytes(context_, e)});
  }
  void set_workspace(std::byte* data, std::size_t bytes) override {
    DS_ASSERT(reinterpret_cast<std::uintptr_t>(data) % 64 == 0);
    context_.workspace = data;
    context_.workspace_bytes = bytes;
  }

  /// The caller may be any thread and works as thread 0. It must not start OpenMP threads either.
  void run(const KernelOp& op, Stream&) override {
    cpu::use_one_onednn_thread();
    std::visit([this](const auto& a) { cpu::run(context_, a); }, op);
  }

  double measure_matrix_peak(DType act) override {
    cpu::use_one_onednn_thread();
    return cpu::measure_matrix_peak(context_, act);
  }

  [[nodiscard]] HeadsLayout heads_layout() const override { return HeadsLayout::by_head; }
  [[nodiscard]] std::vector<std::string> product_implementations() const override {
    return products_.implementations();
  }
  [[nodiscard]] std::uint64_t progress() const override { return pool_.progress(); }

 private:
  const std::string arithmetic_;  // does not name the number of threads, which changes no bits
  ThreadPool pool_;
  cpu::TileProducts products_;
  cpu::Context context_;
};

}  // namespace

Backend make_cpu_backend(const CpuOptions& options) {
  const InstructionSet isa = pick_instruction_set(options.isa);
  const int threads = options.threads > 0 ? options.threads : default_thread_count();
  const char* products = cpu::has_bf16_products()    ? "bf16 and f32 products"
                         : cpu::has_block_products() ? "f32 products"
                                                     : "f32 products without AVX-512";
  return {.device = make_cpu_device(fmt::format("CPU, {} thread{}, {}, {}", threads,
                                                threads == 1 ? "" : "s", isa.name, products)),
          .kernels = std::make_unique<CpuKernels>(threads, *isa.kernels,
                                                  fmt::format("CPU, {}, {}", isa.name, products)),
          .host_threads = threads};
}

}  // namespace ds
