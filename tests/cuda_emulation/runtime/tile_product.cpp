// Sums of a tensor core's product (include/tensor_core.cuh).
namespace emulation {

using Row = double __attribute__((vector_size(64)));

void multiply_16x8x16(const double (&a)[16][16], const double (&b)[16][8], double (&sums)[16][8]);

__attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3"))) void multiply_16x8x16(
    const double (&a)[16][16], const double (&b)[16][8], double (&sums)[16][8]) {
  // Four rows at once, so that each sum waits only for its own last addition.
  for (unsigned row = 0; row < 16; row += 4) {
    Row own[4] = {};
    for (unsigned k = 0; k < 16; ++k) {
      Row b_row;
      __builtin_memcpy(&b_row, b[k], sizeof(b_row));
      own[0] += a[row][k] * b_row;
      own[1] += a[row + 1][k] * b_row;
      own[2] += a[row + 2][k] * b_row;
      own[3] += a[row + 3][k] * b_row;
    }
    __builtin_memcpy(sums[row], own, sizeof(own));
  }
}

}  // namespace emulation
