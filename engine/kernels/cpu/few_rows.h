// Products of a few rows, as in decoding: the weights are read once, where they lie, and are not
// packed. The order of a row's sums does not depend on the number of rows.
#pragma once

#include "engine/kernels/cpu/product.h"

namespace ds::cpu {

/// The most rows for which these products are faster than packed ones.
inline constexpr std::int64_t kFewRows = 8;

/// The scratch of multiply_few(), used both to measure and to run.
struct FewRowsScratch {
  float *in, *parts, *tiles;
  FewRowsScratch(Scratch& scratch, const Context& context, const Product& largest);
};

/// As multiply(), for at most kFewRows rows and operands that are stored plain.
void multiply_few(const Context& context, const Product& product, const FewRowsScratch& scratch,
                  TileSink sink);

}  // namespace ds::cpu
