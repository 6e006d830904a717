// Records between joiner and root inside TLS, around the agent's frames, and the decision of the
// root about a hello. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Version of the records: a hash of their field lists, including Hello's. Older builds send 1.
extern const std::uint32_t kJoinVersion;

// Joiner to root.

/// The first record. Every version begins with `version`, `job` and `place`, so that a root of
/// another version can read them.
struct JoinHello {
  std::uint32_t version = kJoinVersion;
  std::string job{};             // must equal the root's job
  std::string place{};           // the host that this node claims to be, as in the job's list
  std::string uid{};             // of the pod, else of this process
  std::uint64_t started = 0;     // wall clock, nanoseconds: the newest node of a place wins
  std::uint32_t next_epoch = 0;  // all epochs below it have run here; 0: none
  Hello node{};                  // resources of the node
};
/// This node was asked to end (SIGTERM of a pod): it leaves the job, or the root stops all of it.
struct JoinLeaving {
  std::int32_t signo = 0;
};

// Root to joiner.

struct JoinWelcome {
  std::string root{};  // host name of the root
};
/// The connection ends after this record. The fields never change: a node of another version must
/// be able to read them.
struct JoinRefused {
  bool final = false;  // do not dial again: exit with `code`
  std::int32_t code = 0;
  std::string text{};  // message for users
};
/// Starts an agent; its output comes back as AgentBytes of the same session.
struct StartAgent {
  std::uint32_t session = 0;
};
/// Progress of the root, for users: "2 of 4 nodes are here".
struct JoinNews {
  std::string text{};
};
/// The job is over; the joiner exits with this code.
struct JoinOver {
  std::int32_t code = 0;
  std::string report{};  // JSON for the pod's termination log, at most 4 KiB
};

// In either direction.

struct AgentBytes {
  std::uint32_t session = 0;
  std::span<const std::byte> bytes;  // decoded: a view into the decoder, valid until its next call
};
/// To the joiner: end of the agent's input. To the root: the agent has ended.
struct AgentClosed {
  std::uint32_t session = 0;
  std::string problem{};  // empty: a normal end
};
/// The heartbeat while no agent runs, so that silence can be detected.
struct JoinPing {};

/// Period of pings. A silence shorter than 3 periods is not evidence of a lost node.
inline constexpr std::chrono::seconds kJoinPingPeriod{1};
inline constexpr std::chrono::milliseconds kShortestJoinSilence = 3 * kJoinPingPeriod;

using JoinRecord = std::variant<JoinHello, JoinLeaving, JoinWelcome, JoinRefused, StartAgent,
                                JoinNews, JoinOver, AgentBytes, AgentClosed, JoinPing>;

/// Returns a line "TYPE NAME: FIELDS" for each record, in the order of docs/protocol.md.
std::string describe_join();

/// A record is a u32 length of the rest, a u8 type, and the fields of docs/protocol.md.
inline constexpr std::size_t kMaxJoinRecordBytes = std::size_t{1} << 20;
Bytes encode_join(const JoinRecord& record);

/// Cuts a byte stream into records, as Decoder does for frames.
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

/// A node that has proven the key and sent its hello.
struct JoinedNode {
  JoinHello hello;
  std::string address;  // numeric address that it dialed from
};

struct JoinJudgement {
  std::optional<JoinRefused> refusal;  // for the newcomer
  std::optional<JoinRefused> fence;    // for the present node, if a newer one replaces it
  std::string say;                     // message for the root's user; may be empty
};

struct JoinTerms {
  const std::string& job;
  const std::vector<std::string>& places;
  bool present_is_silent = false;  // no recent frame of the present node
  /// Nodes of other names may join too. Such a node need not name the job: the key says it.
  bool open = false;
  std::string_view own_place{};  // place that the root fills itself; empty: none
};

/// Returns the decision about a hello: checks version, job, place, then age. `present`: the node
/// that fills the place now, if any. The newer node stays (JoinHello::started). Clocks of nodes
/// differ, so a silent node gives way to any other. A node that has only dialed again (equal uid)
/// replaces itself. The root's own place is refused. In an open job, a node of `places` that the
/// job has started itself (it names the job) keeps its place against guests of that name. Pure.
JoinJudgement judge_join(const JoinHello& hello, const std::string& address, const JoinTerms& terms,
                         const std::optional<JoinedNode>& present);

}  // namespace ds::launcher
