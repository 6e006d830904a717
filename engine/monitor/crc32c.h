// CRC-32C (Castagnoli, RFC 3720 appendix B.4), the checksum of TFRecord frames.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ds {
namespace crc32c_detail {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // 0x1EDC6F41 with its bits reversed

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1U ^ (rest & 1U ? kPolynomial : 0);
    table[byte] = rest;
  }
  return table;
}
inline constexpr std::array<std::uint32_t, 256> kTable = make_table();

}  // namespace crc32c_detail

constexpr std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t sum = 0xFFFFFFFF;
  for (const char byte : bytes)
    sum = crc32c_detail::kTable[(sum ^ static_cast<unsigned char>(byte)) & 0xFFU] ^ sum >> 8U;
  return ~sum;
}

}  // namespace ds
