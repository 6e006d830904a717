// What the ops with dropout share: the check, the kernel's argument and the text of their draw.
#pragma once

#include "engine/program/ops/row.h"

namespace ds {

/// Checks that an op that drops has the sample numbers as operand `at`, and that others do not.
inline void check_draw(const Operands& o, const DropoutAttrs& attrs, std::size_t at) {
  DS_ASSERT(attrs.rate >= 0 && attrs.rate <= 1 && o.has_in(at) == (attrs.rate != 0));
  DS_ASSERT(!o.has_in(at) || (o.in(at).dtype == DType::i64 && o.in(at).shape.axes() == 1));
}

inline DropoutDraw draw_of(const DropoutAttrs& attrs, const Tensor& samples) {
  return {.samples = samples, .rate = attrs.rate, .key = attrs.key};
}

/// For `varies`.
template <class Kind>
bool draws(const Op& op) {
  return as<Kind>(op).dropout.rate != 0;
}

inline std::string text_of(const DropoutAttrs& attrs) {
  if (attrs.rate == 0) return {};
  return fmt::format(" dropout={} key={:016x}", attrs.rate, attrs.key);
}

}  // namespace ds
