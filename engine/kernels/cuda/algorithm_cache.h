// AlgorithmCache: the library algorithm chosen for each product, kept in a file so that later runs
// neither ask again nor choose another one. Pure except for load and save.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "engine/kernels/cuda/product.h"

namespace ds::cuda {

/// The library's own opaque description of an algorithm.
struct Algorithm {
  std::array<std::uint64_t, 8> words{};
  std::uint64_t workspace_bytes = 0;
  friend bool operator==(const Algorithm&, const Algorithm&) = default;
};

class AlgorithmCache {
 public:
  /// `identity` names everything that the keys omit: device, its size, the library's version.
  explicit AlgorithmCache(std::string identity) : identity_(std::move(identity)) {}

  /// Returns null if none is known. The pointer is valid for the cache's lifetime.
  [[nodiscard]] const Algorithm* find(const ProductKey& key) const;
  /// Order: a later choice for the same key replaces the earlier one.
  const Algorithm& put(const ProductKey& key, const Algorithm& algorithm);
  void forget(const ProductKey& key) { algorithms_.erase(key); }
  [[nodiscard]] std::size_t size() const { return algorithms_.size(); }

  [[nodiscard]] std::string text() const;
  /// Adds the algorithms of a text() result. Returns why the text was rejected (damaged, of another
  /// device or version), or an empty string; it then added all of them.
  [[nodiscard]] std::string take(std::string_view text);

  /// Returns the file of this identity in `folder`.
  [[nodiscard]] std::string path(const std::string& folder) const;
  /// Reads the file. Returns a reason as take() does, preceded by the file's name; a missing file
  /// is not an error.
  [[nodiscard]] std::string load(const std::string& folder);
  /// Writes the file atomically, also beside other processes. Returns why it failed, or an empty
  /// string.
  [[nodiscard]] std::string save(const std::string& folder) const;

 private:
  std::string identity_;
  std::map<ProductKey, Algorithm> algorithms_;
};

}  // namespace ds::cuda
