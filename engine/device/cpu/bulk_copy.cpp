// bulk_copy() with SSE2 alone: every x86-64 has it, and memory is the bottleneck.
#include "engine/device/cpu/bulk_copy.h"

#include <emmintrin.h>

#include <cstdint>
#include <cstring>

namespace ds {
namespace {

constexpr std::size_t kLong = std::size_t{1} << 20;
constexpr std::size_t kLine = 64;

}  // namespace

void bulk_copy(void* to, const void* from, std::size_t bytes) {
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  const std::size_t head = (kLine - reinterpret_cast<std::uintptr_t>(target) % kLine) % kLine;
  if (bytes < kLong) {
    std::memcpy(target, source, bytes);
    return;
  }
  std::memcpy(target, source, head);
  std::size_t at = head;
  for (; at + kLine <= bytes; at += kLine) {
    for (std::size_t part = 0; part < kLine; part += 16) {
      const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + at + part));
      _mm_stream_si128(reinterpret_cast<__m128i*>(target + at + part), value);
    }
  }
  _mm_sfence();  // orders the stores before completion is announced
  std::memcpy(target + at, source + at, bytes - at);
}

}  // namespace ds
