// Matrix products of any size: packs operands and distributes tiles over threads.
#include "engine/kernels/cpu/product.h"

#include <cstring>

namespace ds::cpu {
namespace {

// Packed operands use at most about two cores' share of the last-level cache.
constexpr std::int64_t kPackedBytes = 8 << 20;
constexpr std::int64_t kPanelsPerTask = 4;
constexpr std::int64_t kPackRows = 64;
constexpr std::int64_t kPackDepth = 64;  // a multiple of every k_multiple
constexpr std::int64_t kPanelsPerPack = 4;

/// Sizes that follow from a product, used both to measure scratch and to run.
struct Plan {
  bool pack_a;
  std::int64_t k;  // as oneDNN sees it: bf16 is stored in pairs
  std::int64_t panel_bytes;
  std::int64_t panels, panels_at_once;
  std::int64_t row_bytes, rows_at_once;  // of packed A

  Plan(const Context& context, const Product& p) {
    const PackKernels& pack = context.pack(p.type);
    const bool pairs = pack.element_bytes == 2;
    k = pairs ? round_up(p.k, 2) : p.k;
    pack_a =
        p.a.transposed || p.a.stride != p.k || k != p.k || pack.element_bytes != size_of(p.type);
    panel_bytes = round_up(k, pack.k_multiple) * kPanel * pack.element_bytes;
    panels = ceil_div(p.n, kPanel);
    panels_at_once = std::min(panels, std::max<std::int64_t>(1, kPackedBytes / panel_bytes));
    row_bytes = k * pack.element_bytes;
    rows_at_once = std::min(
        p.m, std::max<std::int64_t>(kTileRows, kPackedBytes / row_bytes / kTileRows * kTileRows));
  }
};

class Run {
 public:
  Run(const Context& context, const Product& product, const ProductScratch& scratch, TileSink sink,
      const PanelHook* hook)
      : c_(context),
        p_(product),
        s_(scratch),
        plan_(context, product),
        sink_(sink),
        hook_(hook),
        pack_(context.pack(product.type)) {
    const Operand operand = context.operand(product.type);
    if (product.m >= kTileRows) whole_ = &c_.products.prepare({operand, kTileRows, plan_.k});
    if (const std::int64_t rest = product.m % kTileRows; rest != 0) {
      rest_ = &c_.products.prepare({operand, rest, plan_.k});
    }
  }

  void go() {
    const std::int64_t rows_at_once = plan_.pack_a ? plan_.rows_at_once : p_.m;
    for (std::int64_t panel = 0; panel < plan_.panels; panel += plan_.panels_at_once) {
      const std::int64_t panels = std::min(plan_.panels_at_once, plan_.panels - panel);
      for (std::int64_t row = 0; row < p_.m; row += rows_at_once) {
        const std::int64_t rows = std::min(rows_at_once, p_.m - row);
        // If all of A fits, it stays packed for the next panels.
        const bool fresh_a = plan_.pack_a && (panel == 0 || rows_at_once < p_.m);
        pack_operands(panel, row == 0 ? panels : 0, row, fresh_a ? rows : 0);
        multiply_tiles(panel, panels, row, rows);
      }
    }
  }

 private:
  void pack_operands(std::int64_t panel, std::int64_t panels, std::int64_t row, std::int64_t rows) {
    const std::int64_t b_tasks = ceil_div(panels, kPanelsPerPack);
    const std::int64_t a_tasks = ceil_div(rows, kPackRows);
    if (b_tasks + a_tasks == 0) return;
    c_.pool.parallel_for(b_tasks + a_tasks, [&](std::int64_t task, int) {
      if (task < b_tasks) {
        const std::int64_t first = task * kPanelsPerPack;
        pack_panels(panel + first, std::min(kPanelsPerPack, panels - first),
                    s_.b + first * plan_.panel_bytes);
      } else {
        const std::int64_t first = (task - b_tasks) * kPackRows;
        pack_a_rows(row + first, std::min(kPackRows, rows - first), s_.a + first * plan_.row_bytes);
      }
    });
  }

  /// Packs several neighboring panels, a few rows at a time. Each row of memory is then read in one
  /// long piece, and the hook finds it in the first-level cache.
  void pack_panels(std::int64_t panel, std::int64_t panels, std::byte* to) {
    const std::int64_t block = p_.b.transposed ? p_.k : kPackDepth;
    for (std::int64_t k = 0; k < p_.k; k += block) {
      for (std::int64_t i = 0; i < panels; ++i) {
        pack_panel_rows(panel + i, k, std::min(block, p_.k - k), to + i * plan_.panel_bytes);
      }
    }
  }

  void pack_panel_rows(std::int64_t panel, std::int64_t k, std::int64_t depth, std::byte* to) {
    const std::int64_t column = panel * kPanel;
    const std::int64_t columns = std::min(kPanel, p_.n - column);
    std::byte* at_k = to + k * kPanel * pack_.element_bytes;
    if (p_.b.transposed) {
      pack_.panel_of_transposed(at(p_.b.data, p_.type, column * p_.b.stride), p_.b.stride, depth,
                                columns, at_k);
    } else {
      pack_.panel(at(p_.b.data, p_.type, k * p_.b.stride + column), p_.b.stride, depth, columns,
                  at_k);
    }
    if (hook_ != nullptr) (*hook_)({.k = k, .depth = depth, .column = column, .columns = columns});
  }

  void pack_a_rows(std::int64_t row, std::int64_t rows, std::byte* to) {
    if (p_.a.transposed) {
      pack_.transpose(at(p_.a.data, p_.type, row), p_.a.stride, rows, p_.k, to, plan_.k);
    } else {
      pack_.copy(at(p_.a.data, p_.type, row * p_.a.stride), p_.a.stride, rows, p_.k, to, plan_.k);
    }
    if (plan_.k == p_.k) return;
    for (std::int64_t r = 0; r < rows; ++r) {  // the second half of a pair must not be a stray NaN
      std::memset(to + r * plan_.row_bytes + p_.k * pack_.element_bytes, 0,
                  static_cast<std::size_t>((plan_.k - p_.k) * pack_.element_bytes));
    }
  }

  void multiply_tiles(std::int64_t panel, std::int64_t panels, std::int64_t row,
                      std::int64_t rows) {
    const std::int64_t groups = ceil_div(panels, kPanelsPerTask);
    c_.pool.parallel_for(ceil_div(rows, kTileRows) * groups, [&](std::int64_t task, int thread) {
      const std::int64_t first = task / groups * kTileRows;
      const std::int64_t group = task % groups * kPanelsPerTask;
      Tile tile{.data = s_.tiles + thread * kTileRows * kPanel,
                .row = row + first,
                .rows = std::min(kTileRows, rows - first),
                .column = 0,
                .columns = 0};
      const void* a = plan_.pack_a ? s_.a + first * plan_.row_bytes
                                   : at(p_.a.data, p_.type, tile.row * p_.a.stride);
      for (std::int64_t i = group; i < std::min(group + kPanelsPerTask, panels); ++i) {
        tile.column = (panel + i) * kPanel;
        tile.columns = std::min(kPanel, p_.n - tile.column);
        (tile.rows == kTileRows ? whole_ : rest_)
            ->run(a, s_.b + i * plan_.panel_bytes, const_cast<float*>(tile.data),
                  s_.onednn + thread * kOneDnnScratchBytes, thread);
        sink_(tile, thread);
      }
    });
  }

  const Context& c_;
  const Product& p_;
  const ProductScratch& s_;
  const Plan plan_;
  TileSink sink_;
  const PanelHook* hook_;
  const PackKernels& pack_;
  const TileProduct* whole_ = nullptr;
  const TileProduct* rest_ = nullptr;
};

}  // namespace

ProductScratch::ProductScratch(Scratch& scratch, const Context& context, const Product& largest) {
  const Plan plan(context, largest);
  // Uses the budget, not this product's own size: a smaller product may fill more of the budget.
  const auto packed = [](std::int64_t all, std::int64_t smallest) {
    return std::min(all, std::max(kPackedBytes, smallest));
  };
  b = scratch.take<std::byte>(packed(plan.panels * plan.panel_bytes, plan.panel_bytes));
  a = scratch.take<std::byte>(
      plan.pack_a ? packed(largest.m * plan.row_bytes, kTileRows * plan.row_bytes) : 0);
  tiles = scratch.take<float>(context.pool.size() * kTileRows * kPanel);
  onednn = scratch.take<std::byte>(context.pool.size() * kOneDnnScratchBytes);
}

void multiply(const Context& context, const Product& product, const ProductScratch& scratch,
              TileSink sink, const PanelHook* panel_hook) {
  if (product.m == 0 || product.n == 0) return;
  DS_ASSERT(product.k > 0);
  Run(context, product, scratch, sink, panel_hook).go();
}

}  // namespace ds::cpu
