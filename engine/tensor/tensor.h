// Tensor: element types, small shapes and non-owning views of memory. No allocation, no arithmetic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "engine/base/error.h"

namespace ds {

enum class DType : std::uint8_t { f32, bf16, f16, f64, i32, i64, u8, i16 };

constexpr std::int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
    case DType::f16:
    case DType::i16:
      return 2;
    case DType::u8:
      return 1;
  }
  return 0;
}

constexpr std::string_view name_of(DType dtype) {
  constexpr std::array<std::string_view, 8> kNames{"f32", "bf16", "f16", "f64",
                                                   "i32", "i64",  "u8",  "i16"};
  return kNames[static_cast<std::size_t>(dtype)];
}

/// Extents of at most five axes, outermost first.
class Shape {
 public:
  static constexpr int kMaxAxes = 5;
  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> extents) {
    DS_ASSERT(extents.size() <= kMaxAxes);
    for (const std::int64_t extent : extents) extents_[static_cast<std::size_t>(axes_++)] = extent;
  }
  [[nodiscard]] constexpr int axes() const { return axes_; }
  [[nodiscard]] constexpr std::int64_t operator[](int axis) const {
    DS_ASSERT(axis >= 0 && axis < axes_);
    return extents_[static_cast<std::size_t>(axis)];
  }
  [[nodiscard]] constexpr std::int64_t elements() const {
    std::int64_t count = 1;
    for (int axis = 0; axis < axes_; ++axis) count *= extents_[static_cast<std::size_t>(axis)];
    return count;
  }
  friend constexpr bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, kMaxAxes> extents_{};
  int axes_ = 0;
};

/// Dense, row-major memory that the view does not own. `Pointer` is void* or const void*.
template <class Pointer>
struct BasicTensor {
  Pointer data = nullptr;
  DType dtype = DType::f32;
  Shape shape;

  [[nodiscard]] std::int64_t elements() const { return shape.elements(); }
  [[nodiscard]] std::int64_t bytes() const { return elements() * size_of(dtype); }
  [[nodiscard]] explicit operator bool() const { return data != nullptr; }
};

using Tensor = BasicTensor<void*>;
struct ConstTensor : BasicTensor<const void*> {
  ConstTensor() = default;
  ConstTensor(const void* data_, DType dtype_, Shape shape_) : BasicTensor{data_, dtype_, shape_} {}
  ConstTensor(const Tensor& other) : BasicTensor{other.data, other.dtype, other.shape} {}
};

}  // namespace ds
