// Matrix products by oneDNN in one thread. run() uses the C interface, so that steady steps
// allocate nothing of ours.
#include "engine/kernels/cpu/tile_product.h"

#include <oneapi/dnnl/dnnl.hpp>

#include "engine/base/error.h"
#include "engine/kernels/cpu/onednn_threads.h"
#include "engine/kernels/cpu/vector_kernels.h"

namespace ds::cpu {
namespace {

void check(dnnl_status_t status, const char* what) {
  if (status != dnnl_success) {
    throw Error(ErrorKind::system,
                fmt::format("oneDNN: {} failed with status {}", what, static_cast<int>(status)));
  }
}

dnnl::engine& cpu_engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::matmul::primitive_desc describe(const TileShape& shape) {
  using dnnl::memory;
  const bool bf16 = shape.operand == Operand::bf16;
  const auto type = bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  const auto layout = bf16                   ? memory::format_tag::BA16a64b2a
                      : has_block_products() ? memory::format_tag::BA16a64b
                                             : memory::format_tag::ab;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (shape.add) {
    dnnl::post_ops after;
    after.append_sum();
    attributes.set_post_ops(after);
  }
  const memory::desc a({shape.m, shape.k}, type, memory::format_tag::ab);
  const memory::desc b({shape.k, kPanel}, type, layout);
  const memory::desc c({shape.m, kPanel}, memory::data_type::f32, memory::format_tag::ab);
  return {dnnl::matmul::desc(a, b, c), attributes, cpu_engine()};
}

bool effective_isa_has(dnnl_cpu_isa_t isa) {
  return (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & static_cast<unsigned>(isa)) ==
         static_cast<unsigned>(isa);
}

}  // namespace

struct TileProduct::Parts {
  struct PerThread {
    dnnl::memory a, b, c, scratch;
    dnnl::stream stream;
  };
  dnnl::matmul matmul;
  std::string implementation;
  std::vector<PerThread> threads;
};

TileProduct::TileProduct(const TileShape& shape, int threads) : parts_(std::make_unique<Parts>()) {
  use_one_onednn_thread();
  try {
    const auto description = describe(shape);
    const dnnl::memory::desc scratch = description.scratchpad_desc();
    DS_ASSERT(static_cast<std::int64_t>(scratch.get_size()) <= kOneDnnScratchBytes);
    parts_->matmul = dnnl::matmul(description);
    parts_->implementation = description.impl_info_str();
    const auto make = [](const dnnl::memory::desc& memory) {
      return dnnl::memory(memory, cpu_engine(), DNNL_MEMORY_NONE);
    };
    for (int thread = 0; thread < threads; ++thread) {
      parts_->threads.push_back({make(description.src_desc()), make(description.weights_desc()),
                                 make(description.dst_desc()), make(scratch),
                                 dnnl::stream(cpu_engine())});
    }
  } catch (const dnnl::error& error) {
    throw Error(ErrorKind::system, fmt::format("oneDNN has no product for ({}, {}) x ({}, {}): {}",
                                               shape.m, shape.k, shape.k, kPanel, error.what()));
  }
}

TileProduct::~TileProduct() = default;
TileProduct::TileProduct(TileProduct&&) noexcept = default;

const std::string& TileProduct::implementation() const { return parts_->implementation; }

void TileProduct::run(const void* a, const void* panel, float* tile, std::byte* scratch,
                      int thread) const {
  const Parts::PerThread& mine = parts_->threads[static_cast<std::size_t>(thread)];
  const auto point = [](const dnnl::memory& memory, const void* data) {
    check(dnnl_memory_set_data_handle(memory.get(), const_cast<void*>(data)), "set_data_handle");
  };
  point(mine.a, a);
  point(mine.b, panel);
  point(mine.c, tile);
  point(mine.scratch, scratch);
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, mine.a.get()},
                                       {DNNL_ARG_WEIGHTS, mine.b.get()},
                                       {DNNL_ARG_DST, mine.c.get()},
                                       {DNNL_ARG_SCRATCHPAD, mine.scratch.get()}};
  check(dnnl_primitive_execute(parts_->matmul.get(), mine.stream.get(), 4, arguments), "matmul");
}

const TileProduct& TileProducts::prepare(const TileShape& shape) {
  const auto found = made_.find(shape);
  if (found != made_.end()) return found->second;
  return made_.emplace(shape, TileProduct(shape, threads_)).first->second;
}

const TileProduct& TileProducts::find(const TileShape& shape) const {
  const auto found = made_.find(shape);
  DS_ASSERT(found != made_.end(), "prepare() must come before the parallel loop");
  return found->second;
}

std::vector<std::string> TileProducts::implementations() const {
  std::vector<std::string> names;
  for (const auto& [shape, product] : made_) names.push_back(product.implementation());
  return names;
}

bool has_bf16_products() { return effective_isa_has(dnnl_cpu_isa_avx512_core_bf16); }
bool has_block_products() { return effective_isa_has(dnnl_cpu_isa_avx512_core); }

}  // namespace ds::cpu
