// Keys and names of matrix products.
#include "engine/kernels/cuda/product.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ds::cuda {
namespace {

constexpr std::int64_t kWidestLoad = 16;

std::string_view suffix_of(ProductEpilogue epilogue) {
  switch (epilogue) {
    case ProductEpilogue::none:
      return "";
    case ProductEpilogue::bias:
      return " + bias";
    case ProductEpilogue::gelu_slope:
      return " * GELU's slope";
    case ProductEpilogue::gelu:
      return ", GELU";
    case ProductEpilogue::bias_gelu:
      return " + bias, GELU";
    case ProductEpilogue::column_sums:
      return ", column sums";
  }
  return "";
}

}  // namespace

std::int64_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const auto lowest = static_cast<std::int64_t>(address & (~address + 1));
  return lowest == 0 ? kWidestLoad : std::min(lowest, kWidestLoad);
}

std::string ProductKey::text() const { return fmt::format("{}", fmt::join(numbers, " ")); }

ProductKey key_of(const Product& p, std::int64_t workspace_bytes) {
  return {{p.m, p.n, p.k, p.a.row_length, p.b.row_length, p.out_row_length,
           static_cast<std::int64_t>(p.type), static_cast<std::int64_t>(p.out_type),
           (p.a.transposed ? 1 : 0) + (p.b.transposed ? 2 : 0),
           static_cast<std::int64_t>(p.epilogue), alignment_of(p.a.data), alignment_of(p.b.data),
           alignment_of(p.out), std::min(alignment_of(p.extra), alignment_of(p.second)),
           workspace_bytes}};
}

std::string describe(const Product& p) {
  return fmt::format("{}{} {} x {} x {} {}{}{}", name_of(p.type),
                     p.out_type == p.type ? "" : fmt::format("->{}", name_of(p.out_type)), p.m, p.n,
                     p.k, p.a.transposed ? 'T' : 'N', p.b.transposed ? 'T' : 'N',
                     suffix_of(p.epilogue));
}

}  // namespace ds::cuda
