// The form of messages on the channel: frames, and the way back. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/wire/messages.h"

namespace ds::launcher {

using Bytes = std::vector<std::byte>;

/// A longer frame is an error; Output frames stay far below.
inline constexpr std::size_t kMaxFrameBytes = std::size_t{4} << 20;
inline constexpr std::size_t kFrameHeaderBytes = 24;
/// The agent says this before its first frame, because login shells may print first.
inline constexpr std::string_view kPreamble =
    "\x01"
    "dslaunch-frames\x02\n";
inline constexpr std::size_t kNoiseKept = 4096;
/// More noise than this before the preamble: no agent answers there.
inline constexpr std::size_t kMaxNoiseBytes = std::size_t{1} << 20;

/// Goes with every frame, so that late ones of an earlier epoch or agent can be dropped.
struct Envelope {
  std::uint64_t job = 0;
  std::uint32_t epoch = 0;
  std::uint32_t incarnation = 0;
  friend bool operator==(const Envelope&, const Envelope&) = default;
};

struct Frame {
  Envelope envelope;
  Message message;
  friend bool operator==(const Frame&, const Frame&) = default;
};

/// One frame, header and payload.
/// Errors:  Error{config} if it is longer than kMaxFrameBytes (an environment or command too big to
/// send).
Bytes encode(const Envelope& envelope, const Message& message);

/// Bytes before the text of an Output frame: whoever reads a pipe leaves so much room in front of
/// it, fills it by write_output_header, and so never copies the text.
inline constexpr std::size_t kOutputHeaderBytes = kFrameHeaderBytes + 14;
void write_output_header(std::span<std::byte, kOutputHeaderBytes> room, const Envelope& envelope,
                         const Output& output);

/// A byte stream cut into frames.
/// Promise: any bytes give frames, or one error that says what is wrong; never more memory than
///          kMaxFrameBytes plus one feed. What has been taken gives its room back.
class Decoder {
 public:
  enum class Start {
    frames,
    preamble
  };  // agent's side; root's side: skips noise up to the preamble
  explicit Decoder(Start start = Start::frames) : in_noise_(start == Start::preamble) {}

  void feed(std::span<const std::byte> bytes);
  /// The next whole frame, or nothing: more bytes are needed, or error() is set.
  std::optional<Frame> next();
  /// What is wrong with the stream, one line; nothing more comes after it.
  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }
  /// Everything before the preamble (its last 4 KiB): shown when no agent answers.
  [[nodiscard]] std::string noise() const;
  /// No byte of an unfinished frame is left: end-of-file here is clean.
  [[nodiscard]] bool at_boundary() const { return !in_noise_ && at_ == buffer_.size(); }
  /// Bytes of memory.
  [[nodiscard]] std::size_t room() const { return buffer_.capacity(); }

 private:
  void skip_noise();
  std::optional<Frame> wait_for_more();
  std::optional<Frame> fail(std::string text);

  Bytes buffer_;
  std::size_t at_ = 0;
  bool in_noise_;
  std::size_t noise_bytes_ = 0;
  std::string noise_{};
  std::optional<std::string> error_;
};

}  // namespace ds::launcher
