// A file per rank, written from a thread of its own: a slow or full disk stops nobody else.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// A file has what its rank wrote on both streams, byte for byte in the order in which it came; a
/// line of one stream that has no end yet is ended before the other stream goes on.
/// Errors:  said once by problem(), and once more when the folder works again; what cannot be
///          written meanwhile is dropped.
class RankFiles {
 public:
  /// More than this queued: whoever fills the queue should pause; below the second: go on.
  static constexpr std::size_t kHigh = std::size_t{8} << 20;
  static constexpr std::size_t kLow = std::size_t{2} << 20;
  /// After an error the files are left alone for so long.
  static constexpr std::chrono::seconds kRetryAfter{5};

  /// How files that exist begin.
  enum class Begin { empty, at_end };
  /// The files are made at once; an empty path has none. `on_change` is called from the writing
  /// thread: the queue has fallen below kLow or is empty, or there is a problem.
  RankFiles(std::vector<std::string> paths, Begin begin, std::function<void()> on_change);
  /// Does not wait for what is still queued.
  ~RankFiles();
  RankFiles(const RankFiles&) = delete;
  RankFiles& operator=(const RankFiles&) = delete;

  [[nodiscard]] bool has(std::size_t file) const;
  /// `prefix` goes before each line.
  void add(std::size_t file, int stream, std::string_view text, std::string_view prefix);
  [[nodiscard]] std::size_t queued() const;
  /// What to tell people, at most one line since the last call.
  std::optional<std::string> problem();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::vector<signed char> open_;  // by file: the stream whose line has no end yet, or 0
};

}  // namespace ds::launcher
