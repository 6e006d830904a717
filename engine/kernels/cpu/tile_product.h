// oneDNN's matrix product for one thread: (m, k) times one packed panel of 64 columns, into an f32
// tile.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace ds::cpu {

enum class Operand : std::uint8_t { f32, bf16 };

/// Bytes of oneDNN's own scratch per thread. A product that wants more is a bug (checked at
/// creation).
inline constexpr std::int64_t kOneDnnScratchBytes = 128 << 10;

/// tile (m, 64) = a (m, k) * panel (k, 64). `a` is dense; the panel's layout is PackKernels's.
/// Threads: any number at once, each with its own `thread` and scratch.
class TileProduct {
 public:
  TileProduct(Operand operand, std::int64_t m, std::int64_t k, int threads);
  ~TileProduct();
  TileProduct(TileProduct&&) noexcept;
  TileProduct(const TileProduct&) = delete;

  void run(const void* a, const void* panel, float* tile, std::byte* scratch, int thread) const;
  /// oneDNN's name of what runs, as "brg:avx512_core_bf16".
  [[nodiscard]] const std::string& implementation() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Products by shape, each made once.
class TileProducts {
 public:
  explicit TileProducts(int threads) : threads_(threads) {}

  /// Makes it if there is none. Not while products run.
  const TileProduct& prepare(Operand operand, std::int64_t m, std::int64_t k);
  /// One that was prepared. Any thread.
  [[nodiscard]] const TileProduct& find(Operand operand, std::int64_t m, std::int64_t k) const;
  /// Names of all that were made, for tests.
  [[nodiscard]] std::vector<std::string> implementations() const;

 private:
  struct Key {
    Operand operand;
    std::int64_t m, k;
    friend bool operator<(const Key& a, const Key& b) {
      return std::tie(a.operand, a.m, a.k) < std::tie(b.operand, b.m, b.k);
    }
  };
  int threads_;
  std::map<Key, TileProduct> made_;
};

/// True when oneDNN multiplies bf16 at full rate here; DNNL_MAX_CPU_ISA counts.
bool has_bf16_products();
/// True when oneDNN has its block kernels ("brg") here, rather than only "gemm:jit".
bool has_block_products();

}  // namespace ds::cpu
