// Sets and compares checksums. Hashes are computed outside the lock, so that reader and writer do
// not wait for each other.
#include "engine/storage/checksums.h"

#include <xxhash.h>

#include <iterator>

namespace ds {

void Checksums::set(std::int64_t offset, std::span<const std::byte> bytes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  const std::uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  const std::scoped_lock lock(mutex_);
  auto at = sums_.lower_bound(offset);
  if (at != sums_.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second.size > offset) sums_.erase(before);
  }
  if (at != sums_.end() && at->first == offset) {
    at->second = {size, hash};
    ++at;
  } else {
    at = std::next(sums_.emplace_hint(at, offset, Sum{size, hash}));
  }
  while (at != sums_.end() && at->first < offset + size) at = sums_.erase(at);
}

bool Checksums::matches(std::int64_t offset, std::span<const std::byte> bytes) const {
  const auto known = [&]() -> const Sum* {
    const auto at = sums_.find(offset);
    const bool same =
        at != sums_.end() && at->second.size == static_cast<std::int64_t>(bytes.size());
    return same ? &at->second : nullptr;
  };
  std::uint64_t expected = 0;
  {
    const std::scoped_lock lock(mutex_);
    const Sum* const sum = known();
    if (sum == nullptr) return true;
    expected = sum->hash;
  }
  return XXH3_64bits(bytes.data(), bytes.size()) == expected;
}

void Checksums::clear() {
  const std::scoped_lock lock(mutex_);
  sums_.clear();
}

}  // namespace ds
