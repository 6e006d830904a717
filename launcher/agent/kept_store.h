// KeptStore: the files that ranks of this node have handed in. The agent holds them over epochs,
// and they end with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "engine/base/unique_fd.h"

namespace ds::launcher {

struct StoredFile {
  UniqueFd fd;
  std::int64_t bytes = 0;  // as the rank says
  std::int32_t rank = 0;   // that has handed it in
  std::uint32_t epoch = 0;
};

/// Threads: one.   Errors: none.
class KeptStore {
 public:
  /// Files that one rank of one epoch may have here.
  static constexpr std::size_t kMaxOfRank = 64;

  /// `most`: files of all ranks.
  explicit KeptStore(std::size_t most = 1024) : most_(most) {}

  /// Holds a file until it is dropped, or replaced by one of the same name. Returns why it is
  /// refused and closed; empty: it is held.
  std::string keep(const std::string& name, StoredFile file);
  void drop(std::string_view name);
  /// Drops the files of epochs before `epoch`.
  void drop_before(std::uint32_t epoch);

  [[nodiscard]] const std::map<std::string, StoredFile, std::less<>>& files() const {
    return files_;
  }

 private:
  std::size_t most_;
  std::map<std::string, StoredFile, std::less<>> files_;  // by name
};

}  // namespace ds::launcher
