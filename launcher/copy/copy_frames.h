// Encodes and decodes the messages of a copy: length, type, fields and a newline. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "launcher/wire/copy_messages.h"

namespace ds::launcher::copy {

/// Bytes of a file in one message.
inline constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
/// A longer message is an error.
inline constexpr std::size_t kMaxMessageBytes = kPieceBytes + 64;
/// A longer path is refused (PATH_MAX has 4096 bytes).
inline constexpr std::size_t kMaxPathBytes = 4096;

/// Appends a message. The newline at its end makes the agent pass it on at once: the agent holds
/// back unfinished lines of output.
void encode(Bytes& out, const CopyMessage& message);

/// Returns the length that is compared with kMaxMessageBytes.
std::size_t message_bytes(const CopyMessage& message);

/// Cuts a byte stream into messages.
/// Promise: any bytes give messages, or one error that says what is wrong.
class CopyDecoder {
 public:
  void feed(std::span<const std::byte> bytes);
  /// Returns the next whole message. Spans in it are valid until the next call.
  std::optional<CopyMessage> next();
  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }

 private:
  Bytes buffer_;
  std::size_t at_ = 0;
  std::optional<std::string> error_;
};

/// Returns a line "TYPE NAME: FIELDS" for each message, as in docs/protocol.md.
std::string describe_copy_frames();

/// Returns the version of these messages, for CopyHello.
std::uint32_t copy_version();

}  // namespace ds::launcher::copy
