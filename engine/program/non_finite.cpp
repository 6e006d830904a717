// NonFiniteHunt and plant_nan(): read elements of every type as double.
#include "engine/program/non_finite.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/tensor/bf16.h"
#include "engine/tensor/f16.h"

namespace ds {
namespace {

template <class T, class ToDouble>
NonFiniteCount count_in(const Tensor& tensor, ToDouble to_double) {
  NonFiniteCount found;
  const auto* const data = static_cast<const T*>(tensor.data);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = to_double(data[i]);
    if (std::isfinite(value)) continue;
    if (found.count++ == 0) found = {.count = 1, .first = i, .value = value};
  }
  return found;
}

}  // namespace

NonFiniteCount count_non_finite(const Tensor& tensor) {
  if (!tensor) return {};
  switch (tensor.dtype) {
    case DType::f32:
      return count_in<float>(tensor, [](float x) { return x; });
    case DType::f64:
      return count_in<double>(tensor, [](double x) { return x; });
    case DType::bf16:
      return count_in<std::uint16_t>(tensor, float_from_bf16);
    case DType::f16:
      return count_in<std::uint16_t>(tensor, float_from_f16);
    default:
      return {};
  }
}

void NonFiniteHunt::look(std::size_t index) {
  const Op& op = program_.ops[index];
  // Ops of a group move and sum what other ops made, perhaps long ago, or a part of it; without
  // overlap they run on this stream too. The threads of other streams also call this function and
  // must do nothing.
  if (op.stream != StreamId::compute || op.group >= 0 || found()) return;
  const auto tell = [&](ValueId id, const char* done, const std::string& what) {
    if (id == kNoValue) return;
    const NonFiniteCount bad = count_non_finite(tensor_of_(id));
    if (bad.count == 0 || found()) return;
    op_ = index;
    finding_ =
        fmt::format("{} {} {}: {} of {} numbers are not finite, the first at {}: {}", op.path, done,
                    what, bad.count, program_.value(id).shape.elements(), bad.first, bad.value);
  };
  for (const ValueId id : op.in) {
    if (id == kNoValue || program_.value(id).kind != ValueKind::parameter) continue;
    tell(id, "read", program_.value(id).name);
  }
  for (const ValueId id : op.out) {
    if (id != kNoValue) tell(id, "made", program_.value(id).name);
  }
}

ValueId plant_nan(const Op& op, const std::string& path,
                  const std::function<Tensor(ValueId)>& tensor_of) {
  if (op.path != path) return kNoValue;
  const auto made = std::ranges::find_if(op.out, [](ValueId id) { return id != kNoValue; });
  if (made == op.out.end()) return kNoValue;
  const Tensor tensor = tensor_of(*made);
  if (tensor.dtype == DType::f32) {
    *static_cast<float*>(tensor.data) = std::numeric_limits<float>::quiet_NaN();
  } else if (size_of(tensor.dtype) == 2) {
    *static_cast<std::uint16_t*>(tensor.data) = 0x7FFFU;  // NaN in bf16 and in f16
  }
  return *made;
}

}  // namespace ds
