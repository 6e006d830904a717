// Writes a log file for each rank from a thread of its own: a slow or full disk delays nothing
// else.
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

/// Log files that lack some of what their ranks wrote.
struct IncompleteFiles {
  std::size_t files = 0;
  std::size_t of = 0;    // all log files
  std::string reason{};  // of the first that failed
};
/// "2 of 8 log files are incomplete: No space left on device"; empty if all are complete.
std::string incomplete_text(const IncompleteFiles& incomplete);

/// A file holds what its rank wrote on both streams, byte for byte in order of arrival. An
/// unfinished line of one stream is ended before the other stream continues.
/// Errors:  problem() reports the first one, and once more when the folder works again; output that
///          cannot be written in between is dropped, and incomplete() counts its files.
class RankFiles {
 public:
  /// The caller should pause above kHigh bytes queued, and continue below kLow.
  static constexpr std::size_t kHigh = std::size_t{8} << 20;
  static constexpr std::size_t kLow = std::size_t{2} << 20;
  /// After an error nothing is written for this long.
  static constexpr std::chrono::seconds kRetryAfter{5};

  /// Where writing begins in a file that exists.
  enum class Begin { empty, at_end };
  /// Creates the files at once; an empty path stands for no file. `on_change` is called from the
  /// writing thread when the queue falls below kLow, is empty, or there is a problem.
  RankFiles(std::vector<std::string> paths, Begin begin, std::function<void()> on_change);
  /// Does not wait for the queue.
  ~RankFiles();
  RankFiles(const RankFiles&) = delete;
  RankFiles& operator=(const RankFiles&) = delete;

  [[nodiscard]] bool has(std::size_t file) const;
  /// Puts `prefix` before each line.
  void add(std::size_t file, int stream, std::string_view text, std::string_view prefix);
  [[nodiscard]] std::size_t queued() const;
  /// Returns what to tell people since the last call, at most one line.
  std::optional<std::string> problem();
  /// The caller waits for the queue no more: what is in it counts as missing.
  void give_up(const std::string& reason);
  /// Returns which files lack something as of now.
  [[nodiscard]] IncompleteFiles incomplete() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::vector<signed char> open_;  // by file: the stream whose line is unfinished, or 0
};

}  // namespace ds::launcher
