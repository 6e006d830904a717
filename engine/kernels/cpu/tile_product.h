// oneDNN's matrix product for one thread: (m, k) times one packed panel of 64 columns, into an f32
// tile.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ds::cpu {

enum class Operand : std::uint8_t { f32, bf16 };

/// Bytes of oneDNN's own scratch per thread. A product that needs more is a bug (checked at
/// creation).
inline constexpr std::int64_t kOneDnnScratchBytes = 128 << 10;

/// Shape of a product. `add`: the tile's old content is added.
struct TileShape {
  Operand operand;
  std::int64_t m, k;
  bool add = false;
  friend auto operator<=>(const TileShape&, const TileShape&) = default;
};

/// Computes tile (m, 64) = a (m, k) * panel (k, 64). `a` is dense; PackKernels defines the panel's
/// layout. Threads: any number at once, each with its own `thread` and scratch.
class TileProduct {
 public:
  TileProduct(const TileShape& shape, int threads);
  ~TileProduct();
  TileProduct(TileProduct&&) noexcept;
  TileProduct(const TileProduct&) = delete;

  void run(const void* a, const void* panel, float* tile, std::byte* scratch, int thread) const;
  /// Returns oneDNN's name of the implementation, such as "brg:avx512_core_bf16".
  [[nodiscard]] const std::string& implementation() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Cache of products by shape.
class TileProducts {
 public:
  explicit TileProducts(int threads) : threads_(threads) {}

  /// Returns the product, made at the first call. Must not run beside find() or running products.
  const TileProduct& prepare(const TileShape& shape);
  /// Returns a prepared product. Safe in any thread.
  [[nodiscard]] const TileProduct& find(const TileShape& shape) const;
  /// Returns the names of all products made, for tests.
  [[nodiscard]] std::vector<std::string> implementations() const;

 private:
  int threads_;
  std::map<TileShape, TileProduct> made_;
};

/// Returns whether oneDNN multiplies bf16 at full rate here. DNNL_MAX_CPU_ISA is respected.
bool has_bf16_products();
/// Returns whether oneDNN has its block kernels ("brg") here, not only "gemm:jit".
bool has_block_products();

}  // namespace ds::cpu
