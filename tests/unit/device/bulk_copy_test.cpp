// Tests of bulk_copy(): copies every byte and no other, at every alignment and around the length
// where the kind of store changes.
#include "engine/device/cpu/bulk_copy.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

TEST_CASE("bulk_copy copies what memcpy would") {
  constexpr std::size_t kLong = std::size_t{1} << 20;
  std::vector<unsigned char> from(kLong + 4096), to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<unsigned char>(i * 7 + i / 251);
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{63}, kLong - 1, kLong, kLong + 1, kLong + 1000}) {
    for (const std::size_t shift : {0U, 1U, 17U, 63U}) {
      std::fill(to.begin(), to.end(), static_cast<unsigned char>(0xEE));
      ds::bulk_copy(to.data() + shift, from.data() + 5, bytes);
      CHECK(std::equal(to.begin() + static_cast<std::ptrdiff_t>(shift),
                       to.begin() + static_cast<std::ptrdiff_t>(shift + bytes), from.begin() + 5));
      const auto touched = [](unsigned char byte) { return byte != 0xEE; };
      CHECK(std::none_of(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(shift), touched));
      CHECK(
          std::none_of(to.begin() + static_cast<std::ptrdiff_t>(shift + bytes), to.end(), touched));
    }
  }
}
