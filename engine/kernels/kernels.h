// Kernels: the numeric functions of training, one struct per op (ops_*.h) and the class that runs
// them. This is seam 2 of 3; each backend is a folder beside this file.
//
// Letters: B sequences of a micro-batch, T positions, rows = B*T, C width, H query heads, G heads
// of keys and of values (G divides H), D elements of a head, F width of the feed-forward layer, K/N
// inputs and outputs of a linear layer, V vocabulary. "act" is the activation type (f32, bf16 or
// f16); weights have the same type. Gradients of parameters are always f32: `accumulate = false`
// overwrites, true adds. Every result has the same bits for any number of threads, since block
// structures depend on shapes alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/device/device.h"
#include "engine/kernels/ops_attention.h"
#include "engine/kernels/ops_cache.h"
#include "engine/kernels/ops_columns.h"
#include "engine/kernels/ops_head.h"
#include "engine/kernels/ops_linear.h"
#include "engine/kernels/ops_rows.h"
#include "engine/kernels/ops_update.h"
#include "engine/tensor/tensor.h"

namespace ds {

/// The ops that every backend has. Adding one: docs/adding.md.
using KernelOp =
    std::variant<Embed, EmbedBackward, LayerNorm, LayerNormBackward, RmsNorm, RmsNormBackward,
                 HeadNorm, HeadNormBackward, Linear, LinearBackwardInput, LinearBackwardWeight,
                 Activate, ActivateBackward, Glu, GluBackward, Rotary, RelativeBias,
                 RelativeBiasBackward, KeyRanges, Dropout, Attention, AttentionBackward, HeadLoss,
                 HeadLossBackward, Logits, Add, AddColumns, TakeColumns, LeafSquares,
                 OptimizerUpdate, FillNormal, Cast, CacheKeys>;

/// Order:  every call runs on `stream`; on the CPU it has finished on return.
/// Errors: mismatched shapes and types are bugs (DS_ASSERT).
class Kernels {
 public:
  virtual ~Kernels() = default;

  /// Sizes for the scratch: the largest of each in any program that will run.
  struct Extents {
    std::int64_t micro = 0, seq_len = 0, width = 0, heads = 0, ffn = 0, vocab = 0, chunk_rows = 0;
    std::int64_t kv_heads = 0;   // 0: equal to heads
    std::int64_t head_size = 0;  // 0: width / heads
    std::int64_t key_len = 0;    // keys that a query may see; 0: seq_len
    bool gated = false;          // the feed-forward layer's first product has 2 * ffn columns
    // The head's logits have a bias, its input a scale; it is sparse (HeadLoss).
    bool head_bias = false, head_scaled = false, head_sparse = false;
    std::int64_t adapter_rank = 0;  // columns between the two products of an adapter; 0: none
    DType act = DType::f32;
  };
  [[nodiscard]] virtual std::size_t workspace_bytes(const Extents& extents) const = 0;
  /// Sets the scratch, which is part of the arena. Kernels allocate nothing in a step after the
  /// first.
  virtual void set_workspace(std::byte* data, std::size_t bytes) = 0;

  virtual void run(const KernelOp& op, Stream& stream) = 0;

  /// Returns the memory layout of "heads", which only kernels of this backend read.
  [[nodiscard]] virtual HeadsLayout heads_layout() const = 0;

  /// Returns the best rate of a plain matrix product of `act` on this device now, in FLOP/s. Takes
  /// 0.04 to 0.2 s on a CPU.
  virtual double measure_matrix_peak(DType act) = 0;

  /// Describes what decides the bits of results: chip or instruction set, library versions, chosen
  /// implementations. Ranks compare it; checkpoints store it.
  [[nodiscard]] virtual std::string arithmetic() const = 0;

  /// Returns the library's names of the matrix products made so far, so that tests notice a slow
  /// fallback.
  [[nodiscard]] virtual std::vector<std::string> product_implementations() const = 0;

  /// Returns a number that changes while ops compute on this process's threads. Any thread.
  [[nodiscard]] virtual std::uint64_t progress() const { return 0; }
};

/// Options of the CPU backend. `threads` = 0 uses the process's share (affinity, OMP_NUM_THREADS).
struct CpuOptions {
  int threads = 0;
  std::string isa = "auto";  // auto | avx512 | avx2
};
struct Backend {
  std::unique_ptr<Device> device;
  std::unique_ptr<Kernels> kernels;
  std::unique_ptr<Kernels> host_kernels{};  // for work on the host beside an accelerator
  int host_threads = 1;                     // of this rank
};
/// Returns the kernels for memory that host code reads and writes.
inline Kernels& host_kernels_of(Backend& backend) {
  return backend.host_kernels ? *backend.host_kernels : *backend.kernels;
}
Backend make_cpu_backend(const CpuOptions& options);

}  // namespace ds
