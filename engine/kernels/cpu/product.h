// Matrix products of any size: operands packed into panels, tiles shared out to threads, each tile
// handed on hot.
#pragma once

#include "engine/kernels/cpu/context.h"

namespace ds::cpu {

/// (m, k) times (k, n). Each operand is memory of `type`, as it is or as its transpose, with a row
/// stride.
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

/// Rows of a tile. The partition depends on this and on shapes alone, never on threads or on
/// scratch size.
inline constexpr std::int64_t kTileRows = 256;

struct Tile {
  const float* data;  // (rows, kPanel) f32
  std::int64_t row, rows, column, columns;
};
using TileSink = FunctionRef<void(const Tile&, int thread)>;
/// A piece of B that was just packed, so that its source is in cache.
struct PackedPiece {
  std::int64_t k, depth, column, columns;
};
/// Order: pieces of one column come with rising k, all in one thread.
using PanelHook = FunctionRef<void(const PackedPiece&)>;

/// The scratch of products: the same pieces for measuring and for running.
struct ProductScratch {
  std::byte *a = nullptr, *b = nullptr, *onednn = nullptr;
  float* tiles = nullptr;
  ProductScratch(Scratch& scratch, const Context& context, const Product& largest);
};

/// Computes every tile of the product once and gives it to `sink`, which may run in any thread.
/// Order: tiles come in no order; each output element is in exactly one of them.
void multiply(const Context& context, const Product& product, const ProductScratch& scratch,
              TileSink sink, const PanelHook* panel_hook = nullptr);

}  // namespace ds::cpu
