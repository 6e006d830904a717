// Turns batches of lines of many ranks into the text of standard output and standard error. Pure.
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

/// The buffers that the relay writes to, one per stream; their owner empties them.
struct RelayOutput {
  OutputBuffer& out;  // stdout
  OutputBuffer& err;  // stderr
};

/// Puts a prefix (`[rank] ` unless others are given) before every line, and before what follows a
/// '\r' inside one, so that progress lines draw over themselves. The bytes of a single rank without
/// a given prefix pass unchanged.
/// Promise: other ranks' text never splits a line, however long, unless the line stops growing.
/// Then
///          it is ended by a newline before others write, and continues behind a new prefix.
/// Memory:  kMaxHeld for the beginnings of lines longer than a batch, of all ranks together; a line
///          that would need more continues in pieces.
class LineRelay {
 public:
  static constexpr std::size_t kMaxHeld = std::size_t{32} << 20;

  /// `one_screen`: stdout and stderr are the same terminal or file, so an unfinished line of one
  /// must be ended before the other writes.
  LineRelay(int world_size, bool one_screen);

  /// `prefixes`: for each rank that of its stdout, then that of its stderr.
  void set_prefixes(std::vector<std::string> prefixes);

  /// Relays a batch of a rank; `stream` 1 or 2, `flags` as in line_batcher.h.
  void batch(int rank, int stream, std::uint8_t flags, std::span<const std::byte> bytes,
             RelayOutput to);
  /// Relays a batch that has a prefix of its own, as one with the time.
  void batch(int rank, int stream, std::uint8_t flags, std::span<const std::byte> bytes,
             std::string_view prefix, RelayOutput to);
  /// Relays a line, or a piece of one, of one rank or (-1) of several.
  void line(int rank, int stream, std::string_view text, std::string_view prefix, RelayOutput to);
  /// Writes a line of the launcher itself to stderr, after ending an unfinished line.
  void own_line(std::string_view line, RelayOutput to);
  /// Writes what is held at the end of the job, and a newline where one is missing (only with
  /// several ranks or a prefix).
  void finish(RelayOutput to);

 private:
  struct Open {  // the unfinished line on a screen
    std::size_t stream = 0;
    char last = 0;
  };
  [[nodiscard]] std::size_t stream_index(int rank, int stream) const;
  [[nodiscard]] std::size_t screen_of(int stream) const {
    return one_screen_ || stream == 1 ? 0 : 1;
  }
  void emit(std::size_t index, std::string_view text, std::string_view prefix, OutputBuffer& to);
  void close_line(std::size_t screen, OutputBuffer& to);

  bool untouched_;  // one rank without a prefix: its bytes pass as they are
  bool one_screen_;
  std::vector<std::string> prefixes_;  // by stream
  std::optional<Open> open_[2];        // by screen
  std::vector<std::optional<OutputBuffer>>
      unfinished_;        // by stream: pieces of a line longer than a batch
  std::size_t held_ = 0;  // bytes of these
};

/// Copies `text` with `prefix` at the start of each line and after each '\r' inside one.
/// `at_start`: `text` begins a line. Exposed for tests and the fuzzer.
void copy_prefixed(std::string_view text, std::string_view prefix, bool at_start, OutputBuffer& to);

}  // namespace ds::launcher
