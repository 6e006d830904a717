// Tiles of attention in shared memory and their two matrix products, for each element type: 16 bits
// by tensor cores, f32 by plain fma.
//
// Every product leaves its result in the layout of mma.m16n8k16: of a warp's 16 rows, lane
// 4 * g + c holds in acc[j][r] row g + 8 * (r / 2) and column 8 * j + 2 * c + r % 2.
#pragma once

#include <cstdint>
#include <cstring>
#include <tensor_core.cuh>

namespace ds::cuda {

struct Bf16Format {
  using Element = std::uint16_t;
  using Core = __nv_bfloat16;
  static __device__ std::uint32_t pack(float low, float high) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    std::uint32_t word = 0;
    memcpy(&word, &both, 4);
    return word;
  }
  static __device__ float value(Element x) { return __uint_as_float(std::uint32_t{x} << 16); }
};

struct F16Format {
  using Element = std::uint16_t;
  using Core = __half;
  static __device__ std::uint32_t pack(float low, float high) {
    const __half2 both = __floats2half2_rn(low, high);
    std::uint32_t word = 0;
    memcpy(&word, &both, 4);
    return word;
  }
  static __device__ float value(Element x) {
    __half half;
    memcpy(&half, &x, 2);
    return __half2float(half);
  }
};

struct F32Format {
  using Element = float;
  static __device__ float value(Element x) { return x; }
};

template <class Format>
inline constexpr bool kIsF32 = sizeof(typename Format::Element) == 4;

/// Rows of kD elements in shared memory. Their 16-byte pieces are rotated by the row number, so
/// that eight rows of one piece are in different banks.
template <class Format, int kD>
struct Tile {
  using Element = typename Format::Element;
  static constexpr int kPiece = 16 / static_cast<int>(sizeof(Element));
  static constexpr int kPieces = kD / kPiece;
  static_assert(kPieces % 8 == 0);

  static __device__ int at(int row, int piece) {
    return (row * kPieces + (piece ^ (row & 7))) * kPiece;
  }
  static __device__ int element(int row, int column) {
    return at(row, column / kPiece) + column % kPiece;
  }
};

/// A head's rows in global memory: element (t, d) is at data[t * stride + d].
template <class Element>
struct Rows {
  Element* data;
  std::int64_t stride;
};

/// Starts copying kRows rows from `first` on into a tile. Rows from `rows` on and columns from
/// `depth` on become zeros.
template <class Format, int kD, int kRows>
__device__ void load_tile(typename Format::Element* tile,
                          const Rows<const typename Format::Element>& from, int first, int rows,
                          int depth, bool vectors) {
  using Place = Tile<Format, kD>;
  const int threads = static_cast<int>(blockDim.x);
  if (vectors) {
    for (int i = static_cast<int>(threadIdx.x); i < kRows * Place::kPieces; i += threads) {
      const int row = i / Place::kPieces, piece = i % Place::kPieces;
      const bool valid = first + row < rows && piece * Place::kPiece < depth;
      const std::int64_t at = (first + row) * from.stride + piece * Place::kPiece;
      copy_async_16(tile + Place::at(row, piece), from.data + (valid ? at : 0), valid);
    }
    return;
  }
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kD; i += threads) {
    const int row = i / kD, column = i % kD;
    const bool valid = first + row < rows && column < depth;
    tile[Place::element(row, column)] =
        valid ? from.data[(first + row) * from.stride + column] : typename Format::Element{};
  }
}

/// acc += rows `row` ... row + 15 of `a` times the transposed rows 0 ... 8 * kTiles - 1 of `b`.
template <class Format, int kD, int kTiles>
__device__ void multiply_rows(float (&acc)[kTiles][4], const typename Format::Element* a, int row,
                              const typename Format::Element* b) {
  using Place = Tile<Format, kD>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if constexpr (kIsF32<Format>) {
    const int g = lane / 4, c = lane % 4;
    const auto four = [](const float* tile, int r, int piece) {
      return *reinterpret_cast<const float4*>(tile + Place::at(r, piece));
    };
    const auto add = [](float sum, const float4& x, const float4& y) {
      return fmaf(x.w, y.w, fmaf(x.z, y.z, fmaf(x.y, y.y, fmaf(x.x, y.x, sum))));
    };
#pragma unroll 1
    for (int piece = 0; piece < Place::kPieces; ++piece) {
      const float4 upper = four(a, row + g, piece), lower = four(a, row + g + 8, piece);
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
        const float4 left = four(b, 8 * j + 2 * c, piece),
                     right = four(b, 8 * j + 2 * c + 1, piece);
        acc[j][0] = add(acc[j][0], upper, left);
        acc[j][1] = add(acc[j][1], upper, right);
        acc[j][2] = add(acc[j][2], lower, left);
        acc[j][3] = add(acc[j][3], lower, right);
      }
    }
  } else {
    static_assert(kTiles % 2 == 0);
#pragma unroll 2
    for (int k = 0; k < kD / 16; ++k) {
      std::uint32_t left[4], right[4];
      load_matrix_x4(left, a + Place::at(row + lane % 16, 2 * k + lane / 16));
#pragma unroll
      for (int j = 0; j < kTiles; j += 2) {
        load_matrix_x4(right, b + Place::at(8 * (j + lane / 16) + lane % 8, 2 * k + lane / 8 % 2));
        mma_16x8x16<typename Format::Core>(acc[j], left, right[0], right[1]);
        mma_16x8x16<typename Format::Core>(acc[j + 1], left, right[2], right[3]);
      }
    }
  }
}

/// acc += p (16 rows, 8 * kInner columns, in registers) times rows 0 ... 8 * kInner - 1 of `b`,
/// columns `column` ... column + 8 * kTiles - 1. In 16 bits p is rounded first.
template <class Format, int kD, int kInner, int kTiles>
__device__ void multiply_registers(float (&acc)[kTiles][4], const float (&p)[kInner][4],
                                   const typename Format::Element* b, int column) {
  using Place = Tile<Format, kD>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if constexpr (kIsF32<Format>) {
    const int c = lane % 4;
#pragma unroll
    for (int i = 0; i < kInner; ++i) {
#pragma unroll 1
      for (int pair = 0; pair < 4; ++pair) {
        const int holder = lane - c + pair;
#pragma unroll
        for (int x = 0; x < 2; ++x) {
          const float upper = __shfl_sync(0xFFFFFFFFU, p[i][x], holder);
          const float lower = __shfl_sync(0xFFFFFFFFU, p[i][2 + x], holder);
#pragma unroll
          for (int j = 0; j < kTiles; ++j) {
            const float2 two = *reinterpret_cast<const float2*>(
                b + Place::element(8 * i + 2 * pair + x, column + 8 * j + 2 * c));
            acc[j][0] = fmaf(upper, two.x, acc[j][0]);
            acc[j][1] = fmaf(upper, two.y, acc[j][1]);
            acc[j][2] = fmaf(lower, two.x, acc[j][2]);
            acc[j][3] = fmaf(lower, two.y, acc[j][3]);
          }
        }
      }
    }
  } else {
    static_assert(kInner % 2 == 0 && kTiles % 2 == 0);
#pragma unroll
    for (int k = 0; k < kInner / 2; ++k) {
      const std::uint32_t left[4] = {Format::pack(p[2 * k][0], p[2 * k][1]),
                                     Format::pack(p[2 * k][2], p[2 * k][3]),
                                     Format::pack(p[2 * k + 1][0], p[2 * k + 1][1]),
                                     Format::pack(p[2 * k + 1][2], p[2 * k + 1][3])};
#pragma unroll
      for (int j = 0; j < kTiles; j += 2) {
        std::uint32_t right[4];
        load_matrix_x4_transposed(right,
                                  b + Place::at(16 * k + lane % 16, column / 8 + j + lane / 16));
        mma_16x8x16<typename Format::Core>(acc[j], left, right[0], right[1]);
        mma_16x8x16<typename Format::Core>(acc[j + 1], left, right[2], right[3]);
      }
    }
  }
}

/// Stores the elements of one row that lane c of four holds, multiplied by `factor`.
template <class Format, int kTiles>
__device__ void store_row(typename Format::Element* row, const float (&acc)[kTiles][4], int half,
                          int column, int depth, float factor, bool pairs) {
  const int c = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
    const int d = column + 8 * j + 2 * c;
    const float low = acc[j][2 * half] * factor, high = acc[j][2 * half + 1] * factor;
    if constexpr (kIsF32<Format>) {
      if (d < depth) row[d] = low;
      if (d + 1 < depth) row[d + 1] = high;
    } else {
      const std::uint32_t word = Format::pack(low, high);
      if (pairs && d < depth) {
        *reinterpret_cast<std::uint32_t*>(row + d) = word;
      } else {
        if (d < depth) row[d] = static_cast<std::uint16_t>(word & 0xFFFFU);
        if (d + 1 < depth) row[d + 1] = static_cast<std::uint16_t>(word >> 16);
      }
    }
  }
}

template <int kTiles>
__device__ void clear(float (&acc)[kTiles][4]) {
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
#pragma unroll
    for (int r = 0; r < 4; ++r) acc[j][r] = 0;
  }
}

}  // namespace ds::cuda
