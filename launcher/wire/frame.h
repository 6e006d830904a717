// Frames of the channel between launcher and agent: encoder and decoder. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/wire/messages.h"
#include "launcher/wire/send_queue.h"

namespace ds::launcher {

/// A longer payload is an error. Output frames have at most 256 KiB.
inline constexpr std::size_t kMaxFrameBytes = std::size_t{4} << 20;
inline constexpr std::size_t kFrameHeaderBytes = 24;
/// The agent sends this line before its first frame, because login shells may print first.
inline constexpr std::string_view kPreamble =
    "\x01"
    "dslaunch-frames\x02\n";
/// Bytes kept of what came before the preamble, for messages.
inline constexpr std::size_t kNoiseKept = 4096;
/// More than this before the preamble is an error: no agent answers there.
inline constexpr std::size_t kMaxNoiseBytes = std::size_t{1} << 20;

/// Part of every frame header, so that late frames of an earlier epoch or agent can be dropped.
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

/// Returns one frame: header and payload.
/// Errors:  Error{config} if the payload exceeds kMaxFrameBytes (a huge environment or command).
Bytes encode(const Envelope& envelope, const Message& message);

/// A message for many channels: its payload is encoded once, and only the headers differ.
class SharedFrame {
 public:
  /// Errors:  as encode().
  explicit SharedFrame(const Message& message);
  [[nodiscard]] Bytes header(const Envelope& envelope) const;
  [[nodiscard]] const SharedBytes& payload() const { return payload_; }

 private:
  std::uint8_t type_;
  SharedBytes payload_;
};

/// Bytes before the text of an Output frame. A reader of a pipe that leaves this room in front of
/// the text, and fills it with write_output_header, does not copy the text.
inline constexpr std::size_t kOutputHeaderBytes = kFrameHeaderBytes + 14;
void write_output_header(std::span<std::byte, kOutputHeaderBytes> room, const Envelope& envelope,
                         const Output& output);

/// Cuts a byte stream into frames. A Hello of another version comes out with `version` and `build`
/// alone, so that the root can name the mismatch.
/// Promise: any bytes give frames, or one error that says what is wrong. Memory is at most
///          kMaxFrameBytes plus one feed, and is freed when a long frame has been taken.
class Decoder {
 public:
  enum class Start {
    frames,   // on the agent
    preamble  // on the root: everything up to the preamble is skipped
  };
  explicit Decoder(Start start = Start::frames) : in_noise_(start == Start::preamble) {}

  void feed(std::span<const std::byte> bytes) {
    if (error_) return;
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
  /// Returns the next whole frame; nothing if more bytes are needed or error() is set.
  std::optional<Frame> next();
  /// Returns what is wrong with the stream, in one line. No frame comes after it.
  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }
  /// Returns what came before the preamble, the last 4 KiB of it. Shown when no agent answers.
  [[nodiscard]] std::string noise() const;
  /// Returns true before the preamble.
  [[nodiscard]] bool in_noise() const { return in_noise_; }
  /// Returns true if no byte of an unfinished frame is left: the stream may end here.
  [[nodiscard]] bool at_boundary() const { return !in_noise_ && at_ == buffer_.size(); }
  /// Returns the size of the buffer in bytes.
  [[nodiscard]] std::size_t room() const { return buffer_.capacity(); }

 private:
  void skip_noise();
  std::optional<Frame> wait_for_more();
  std::optional<Frame> fail(std::string text) {
    error_ = std::move(text);
    return std::nullopt;
  }

  Bytes buffer_;
  std::size_t at_ = 0;
  bool in_noise_;
  std::size_t noise_bytes_ = 0;
  std::string noise_{};
  std::optional<std::string> error_;
};

}  // namespace ds::launcher
