// Batches of lines of many ranks -> what goes to standard output and standard error. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/logs/output_buffer.h"

namespace ds::launcher {

/// Where the relay writes: one buffer per stream, to be emptied by its owner.
struct RelayOutput {
  OutputBuffer& out;  // stdout
  OutputBuffer& err;  // stderr
};

/// Puts a prefix (`[rank] ` unless others are given) before every line, and before what follows a
/// '\r' inside one, so that progress lines draw over themselves. A job of one rank without a given
/// prefix has none: its bytes pass untouched. Promise:
/// a line is never split by another rank's, however long, as long as it does not stand still; then
///          it is closed by a newline before others write, and goes on with a new prefix.
/// Memory:  kMaxHeld for beginnings of lines longer than a batch, of all ranks together; a line
/// that
///          would need more goes on in pieces: it is no text.
class LineRelay {
 public:
  static constexpr std::size_t kMaxHeld = std::size_t{32} << 20;

  /// `one_screen`: stdout and stderr are the same terminal or file, so an open line of one is in
  /// the way of the other.
  LineRelay(int world_size, bool one_screen);

  /// For each rank those of its stdout and its stderr.
  void set_prefixes(std::vector<std::string> prefixes);

  /// `stream` 1 or 2; `flags` as in line_batcher.h.
  void batch(int rank, int stream, std::uint8_t flags, std::span<const std::byte> bytes,
             RelayOutput to);
  /// With a prefix of its own (one with the time).
  void batch(int rank, int stream, std::uint8_t flags, std::span<const std::byte> bytes,
             std::string_view prefix, RelayOutput to);
  /// A line, or a piece of one, of one rank or (-1) of several.
  void line(int rank, int stream, std::string_view text, std::string_view prefix, RelayOutput to);
  /// A line of the launcher itself, on stderr; closes an open line first.
  void own_line(std::string_view line, RelayOutput to);
  /// The end of the job: lines that wait for their end, and a newline where one is missing (several
  /// ranks only).
  void finish(RelayOutput to);

 private:
  struct Open {  // the line on a screen that has no newline yet
    std::size_t stream = 0;
    char last = 0;
  };
  [[nodiscard]] std::size_t stream_index(int rank, int stream) const;
  [[nodiscard]] std::size_t screen_of(int stream) const {
    return one_screen_ || stream == 1 ? 0 : 1;
  }
  void emit(std::size_t index, std::string_view text, std::string_view prefix, OutputBuffer& to);
  void close_line(std::size_t screen, OutputBuffer& to);

  bool untouched_;
  bool one_screen_;
  std::vector<std::string> prefixes_;  // by stream
  std::optional<Open> open_[2];        // by screen
  std::vector<std::optional<OutputBuffer>>
      unfinished_;        // by stream: pieces of a line longer than a batch
  std::size_t held_ = 0;  // bytes of these
};

/// Copies `text` with `prefix` at the start of each line; `at_start`: it begins one. Every '\r'
/// that has more of its line after it is followed by the prefix too. Exposed for tests and the
/// fuzzer.
void copy_prefixed(std::string_view text, std::string_view prefix, bool at_start, OutputBuffer& to);

}  // namespace ds::launcher
