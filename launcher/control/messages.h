// What passes over a job's private socket (docs/jobs.md), and its frames. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Every request begins with it; a job refuses what it does not speak.
inline constexpr std::uint32_t kControlVersion = 3;

// Requests.
struct InfoRequest {
  static constexpr std::uint8_t kNumber = 1;
  std::uint32_t version = kControlVersion;
  friend bool operator==(const InfoRequest&, const InfoRequest&) = default;
};
struct SignalRequest {  // as if the launcher itself had got the signal
  static constexpr std::uint8_t kNumber = 2;
  std::uint32_t version = kControlVersion;
  std::int32_t signo = 0;
  std::int64_t grace_ms = -1;  // -1: the job's own
  friend bool operator==(const SignalRequest&, const SignalRequest&) = default;
};
struct OutputRequest {  // what the job keeps of its output, then Caught; then, if asked, what comes
  static constexpr std::uint8_t kNumber = 3;
  std::uint32_t version = kControlVersion;
  std::int32_t rank = -1;  // -1: of all, and the launcher's own lines
  bool follow = false;     // until Done
  friend bool operator==(const OutputRequest&, const OutputRequest&) = default;
};
struct WaitRequest {  // only Done
  static constexpr std::uint8_t kNumber = 4;
  std::uint32_t version = kControlVersion;
  friend bool operator==(const WaitRequest&, const WaitRequest&) = default;
};
struct CheckpointRequest {  // of a job that trains: Accepted, later CheckpointOutcome, or Done
  static constexpr std::uint8_t kNumber = 5;
  std::uint32_t version = kControlVersion;
  friend bool operator==(const CheckpointRequest&, const CheckpointRequest&) = default;
};

// Answers.
struct JobInfo {
  static constexpr std::uint8_t kNumber = 33;
  std::string id{};     // 16 hexadecimal digits
  std::string state{};  // starting, running, stopping
  std::uint32_t pid = 0;
  std::uint64_t started_ms = 0;  // since 1970
  std::uint32_t ranks = 0;
  std::uint32_t ranks_left = 0;
  std::uint32_t nodes = 0;
  std::string host{};    // where the launcher runs
  std::string folder{};  // working directory of the ranks
  std::string log{};     // where a detached job writes; empty: not detached
  std::vector<std::string> command{};
  bool trains = false;       // a train.toml, not a command
  std::int64_t step = -1;    // of training, the last that was shown; -1: none
  std::string checkpoint{};  // of training, the newest complete one; empty: none is known
  friend bool operator==(const JobInfo&, const JobInfo&) = default;
};
struct RankOutput {
  static constexpr std::uint8_t kNumber = 34;
  std::int32_t rank = 0;  // -1: a line of the launcher itself, without newline
  std::uint8_t stream = 1;
  std::uint8_t flags = 0;                 // as in launcher/logs/line_batcher.h
  std::string prefix{};                   // of its lines
  std::span<const std::byte> bytes = {};  // decoded: valid until the decoder is used again
};
struct Skipped {  // this client was too slow for so many bytes
  static constexpr std::uint8_t kNumber = 35;
  std::uint64_t bytes = 0;
  friend bool operator==(const Skipped&, const Skipped&) = default;
};
struct Caught {  // all that was kept has been sent
  static constexpr std::uint8_t kNumber = 36;
  friend bool operator==(const Caught&, const Caught&) = default;
};
struct CheckpointOutcome {
  static constexpr std::uint8_t kNumber = 40;
  bool saved = false;
  std::int64_t step = 0;
  std::string folder{};
  std::string details{};  // of a saved one: bytes and times; else why not
  friend bool operator==(const CheckpointOutcome&, const CheckpointOutcome&) = default;
};
struct Accepted {
  static constexpr std::uint8_t kNumber = 37;
  friend bool operator==(const Accepted&, const Accepted&) = default;
};
struct Refused {
  static constexpr std::uint8_t kNumber = 38;
  std::string reason{};
  friend bool operator==(const Refused&, const Refused&) = default;
};
struct JobDone {
  static constexpr std::uint8_t kNumber = 39;
  std::int32_t code = 0;
  friend bool operator==(const JobDone&, const JobDone&) = default;
};

using ControlMessage =
    std::variant<InfoRequest, SignalRequest, OutputRequest, WaitRequest, CheckpointRequest, JobInfo,
                 RankOutput, Skipped, Caught, CheckpointOutcome, Accepted, Refused, JobDone>;

/// A request or answer of at most this size; output comes in smaller ones.
inline constexpr std::size_t kMaxControlFrame = std::size_t{1} << 20;

/// Appends one frame: 32-bit length of what follows, little endian; number of the message; fields.
void encode_control(const ControlMessage& message, Bytes& out);

/// Cuts a stream into messages.
class ControlDecoder {
 public:
  void feed(std::span<const std::byte> bytes);
  /// Empty: needs more bytes, or broken().
  std::optional<ControlMessage> next();
  /// The stream makes no sense; nothing follows.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  Bytes buffer_;
  std::size_t taken_ = 0;
  bool broken_ = false;
};

}  // namespace ds::launcher
