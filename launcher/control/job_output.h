// Output of a job for its clients: the ring buffer that the job keeps, and the view that a client
// shows. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/control/job_socket.h"
#include "launcher/logs/line_relay.h"

namespace ds::launcher {

/// Header of one piece of output: rank, stream and time.
struct OutputPiece {
  std::int32_t rank = 0;  // -1: a line of the launcher itself
  std::uint8_t stream = 1;
  std::uint8_t flags = 0;    // as in launcher/logs/line_batcher.h
  Clock::time_point time{};  // time of the write
};

/// Keeps the last bytes; old pieces are dropped for new ones. Positions only grow, so a reader can
/// keep one while the ring advances.
class OutputRing {
 public:
  static constexpr std::size_t kCapacity = std::size_t{1} << 20;
  /// Maximum size of a piece. Longer output is split.
  static constexpr std::size_t kMaxPiece = std::size_t{64} << 10;

  explicit OutputRing(std::size_t capacity = kCapacity) : capacity_(capacity) {}

  void append(OutputPiece piece, std::span<const std::byte> bytes);

  [[nodiscard]] std::uint64_t begin() const { return begin_; }  // position of the oldest piece
  [[nodiscard]] std::uint64_t end() const { return end_; }

  struct Read {
    OutputPiece piece;
    std::span<const std::byte> first;   // the text, in one or two parts;
    std::span<const std::byte> second;  // valid until the next append
    std::uint64_t next = 0;             // position of the next piece
  };
  /// Returns the piece at a position between begin() and end().
  [[nodiscard]] Read at(std::uint64_t position) const;

 private:
  struct Header {
    OutputPiece piece;
    std::uint32_t size = 0;
  };
  void append_piece(OutputPiece piece, std::span<const std::byte> bytes);
  void put(std::span<const std::byte> bytes);
  [[nodiscard]] Header header_at(std::uint64_t position) const;
  /// Returns up to `count` bytes from `position` on; less if the buffer wraps around.
  [[nodiscard]] std::span<const std::byte> view(std::uint64_t position, std::size_t count) const;

  std::size_t capacity_;
  std::unique_ptr<std::byte[]> buffer_;  // allocated at the first output
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

/// Prefixes lines as the job's own terminal does, and begins with the last kept lines.
class TailView {
 public:
  /// `lines`: number of kept lines to show. `one_screen`: as for LineRelay.
  TailView(int ranks, std::size_t lines, bool one_screen);

  /// Keeps the output before caught(), and appends it to `to` afterwards.
  void output(const RankOutput& piece, RelayOutput to);
  void skipped(const Skipped& gap, RelayOutput to);
  /// Shows the last of the kept lines; the job has sent all that it kept.
  void caught(RelayOutput to);
  /// Ends the view.
  void finish(RelayOutput to) { relay_.finish(to); }

 private:
  struct Part {  // text of one stream, in display order
    int stream = 1;
    std::string text{};
  };
  void relay(const RankOutput& piece, RelayOutput to);
  void keep(int stream, OutputBuffer& text);

  int ranks_;
  std::size_t lines_;
  bool live_ = false;
  LineRelay relay_;
  OutputBuffer kept_out_, kept_err_;
  std::vector<Part> kept_;
};

}  // namespace ds::launcher
