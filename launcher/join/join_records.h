// What a joiner and the root say to each other inside TLS, around the frames of the agent. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "launcher/wire/frame.h"

namespace ds::launcher {

inline constexpr std::uint32_t kJoinVersion = 1;

// Joiner to root.

/// The first record.
struct JoinHello {
  std::uint32_t version = kJoinVersion;
  std::string job{};             // both sides must mean the same one
  std::string place{};           // the host of the job that this is, as its list names it
  std::string uid{};             // of the pod, or of this process where there is none
  std::uint64_t started = 0;     // wall clock, nanoseconds: the newest of one place wins
  std::uint32_t next_epoch = 0;  // all below it have run here; 0: none has
  Hello node{};                  // what the node has
  friend bool operator==(const JoinHello&, const JoinHello&) = default;
};
/// This node was told to end (SIGTERM of a pod): a wish of one is a decision of all.
struct JoinLeaving {
  std::int32_t signo = 0;
  friend bool operator==(const JoinLeaving&, const JoinLeaving&) = default;
};

// Root to joiner.

struct JoinWelcome {
  std::string root{};  // its host name
  friend bool operator==(const JoinWelcome&, const JoinWelcome&) = default;
};
/// The connection ends after it.
struct JoinRefused {
  bool final = false;  // dialling again is of no use: end with `code`
  std::int32_t code = 0;
  std::string text{};  // for people
  friend bool operator==(const JoinRefused&, const JoinRefused&) = default;
};
/// Start an agent; what it says comes back as AgentBytes of the same session.
struct StartAgent {
  std::uint32_t session = 0;
  friend bool operator==(const StartAgent&, const StartAgent&) = default;
};
/// How far the root is, for people: "2 of 4 nodes are here".
struct JoinNews {
  std::string text{};
  friend bool operator==(const JoinNews&, const JoinNews&) = default;
};
/// The job is over; the joiner ends with this code.
struct JoinOver {
  std::int32_t code = 0;
  std::string report{};  // JSON for the pod's termination log, at most 4 KiB
  friend bool operator==(const JoinOver&, const JoinOver&) = default;
};

// Both ways.

struct AgentBytes {
  std::uint32_t session = 0;
  std::span<const std::byte> bytes;  // decoded: a view into the decoder, valid until its next call
};
bool operator==(const AgentBytes& a, const AgentBytes& b);
/// To the joiner: end of the agent's input. To the root: the agent is gone.
struct AgentClosed {
  std::uint32_t session = 0;
  std::string problem{};  // empty: as it should be
  friend bool operator==(const AgentClosed&, const AgentClosed&) = default;
};
/// While no agent runs, so that silence means something.
struct JoinPing {
  friend bool operator==(const JoinPing&, const JoinPing&) = default;
};

/// How often a node that has nothing else to say is heard. Silence that means less than three of
/// them means nothing.
inline constexpr std::chrono::seconds kJoinPingPeriod{1};
inline constexpr std::chrono::milliseconds kShortestJoinSilence = 3 * kJoinPingPeriod;

using JoinRecord = std::variant<JoinHello, JoinLeaving, JoinWelcome, JoinRefused, StartAgent,
                                JoinNews, JoinOver, AgentBytes, AgentClosed, JoinPing>;

/// A record is a u32 length of what follows, a u8 type, and the fields as docs/protocol.md says.
inline constexpr std::size_t kMaxJoinRecordBytes = std::size_t{1} << 20;
Bytes encode_join(const JoinRecord& record);

/// A byte stream cut into records; as Decoder of frames.
class JoinDecoder {
 public:
  void feed(std::span<const std::byte> bytes);
  std::optional<JoinRecord> next();
  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }

 private:
  Bytes buffer_;
  std::size_t at_ = 0;
  std::optional<std::string> error_;
};

}  // namespace ds::launcher
