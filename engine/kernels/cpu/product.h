// Matrix products of any size: operands are packed into panels, tiles are distributed over threads,
// and each tile is passed on while it is in cache.
#pragma once

#include "engine/kernels/cpu/context.h"

namespace ds::cpu {

/// (m, k) times (k, n). Each operand is memory of `type` with a row stride, stored plain or
/// transposed.
struct Product {
  struct Side {
    const void* data = nullptr;
    std::int64_t stride = 0;
    bool transposed = false;
  };
  std::int64_t m = 0, n = 0, k = 0;
  DType type = DType::f32;
  Side a, b;
};

/// Rows of a tile. The partition depends on this and on shapes alone, never on threads or scratch
/// size.
inline constexpr std::int64_t kTileRows = 256;

struct Tile {
  const float* data;  // (rows, kPanel) f32
  std::int64_t row, rows, column, columns;
};
using TileSink = FunctionRef<void(const Tile&, int thread)>;
/// A piece of B that was just packed, so its source is in cache.
struct PackedPiece {
  std::int64_t k, depth, column, columns;
};
/// Order: pieces of one column arrive with rising k, all in one thread.
using PanelHook = FunctionRef<void(const PackedPiece&)>;

/// The scratch of products, used both to measure and to run.
struct ProductScratch {
  std::byte *a = nullptr, *b = nullptr, *onednn = nullptr;
  float* tiles = nullptr;
  ProductScratch(Scratch& scratch, const Context& context, const Product& largest);
};

/// Computes every tile of the product once and passes it to `sink`, which may run in any thread.
/// Order: tiles arrive in any order; each output element is in exactly one tile.
void multiply(const Context& context, const Product& product, const ProductScratch& scratch,
              TileSink sink, const PanelHook* panel_hook = nullptr);

}  // namespace ds::cpu
