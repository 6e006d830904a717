// Which of the library's algorithms each product uses: found once, kept, and pinned in a file, so
// that later runs neither ask again nor choose another one. Pure but for load and save.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "engine/kernels/cuda/product.h"

namespace ds::cuda {

/// The library's own description, which only the library reads.
struct Algorithm {
  std::array<std::uint64_t, 8> words{};
  std::uint64_t workspace_bytes = 0;
  friend bool operator==(const Algorithm&, const Algorithm&) = default;
};

class AlgorithmCache {
 public:
  /// `identity` names all that the keys leave out: device, its size, the library's version.
  explicit AlgorithmCache(std::string identity) : identity_(std::move(identity)) {}

  /// Null where none is known. The answer stays good until the cache goes.
  [[nodiscard]] const Algorithm* find(const ProductKey& key) const;
  /// Order: a later choice for the same key replaces the earlier one.
  const Algorithm& put(const ProductKey& key, const Algorithm& algorithm);
  void forget(const ProductKey& key) { algorithms_.erase(key); }
  [[nodiscard]] std::size_t size() const { return algorithms_.size(); }

  [[nodiscard]] std::string text() const;
  /// Takes what text() made. Returns why it was not taken (damaged, of another device, of another
  /// version), or nothing; then all of it was taken.
  [[nodiscard]] std::string take(std::string_view text);

  /// The file of this identity under `folder`.
  [[nodiscard]] std::string path(const std::string& folder) const;
  /// A file that is not there is no reason. Returns a reason as take() does, with the file's name.
  [[nodiscard]] std::string load(const std::string& folder);
  /// Whole or not at all, also beside other processes. Returns why it could not, or nothing.
  [[nodiscard]] std::string save(const std::string& folder) const;

 private:
  std::string identity_;
  std::map<ProductKey, Algorithm> algorithms_;
};

}  // namespace ds::cuda
