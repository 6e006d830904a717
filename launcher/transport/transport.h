// The seam between the job and the ways to reach a node: a byte pipe to one agent process.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

using Bytes = std::vector<std::byte>;

/// How far a host got: the names that people see.
namespace stage {
inline constexpr const char* kConfig = "configuration";
inline constexpr const char* kLookUp = "name look-up";
inline constexpr const char* kConnect = "connection";
inline constexpr const char* kKeyExchange = "key exchange";
inline constexpr const char* kHostKey = "host key";
inline constexpr const char* kLogin = "authentication";
inline constexpr const char* kStart = "agent start";
inline constexpr const char* kRunning = "running";
}  // namespace stage

/// Why a pipe ended.
struct ChannelEnd {
  enum class Kind {
    closed,       // the agent closed it or ended; the normal end
    unreachable,  // never reached: DNS, route, refused, key, authentication; `reason` says which
                  // and what to do
    no_agent,     // reached, but no agent could be started there
    lost          // it worked, then broke
  };
  Kind kind = Kind::closed;
  std::string reason;   // for people, one line, naming host and cause; empty for closed
  std::string stage{};  // one of `stage`; that of a jump host has its name in front
};

/// What a channel tells its owner. All calls come from the io_context's thread, never from inside
/// open() or send().
struct ChannelEvents {
  /// Bytes of the agent's standard output, in order. They are frames (launcher/wire/frame.h) after
  /// a preamble that the reader skips: login shells may print before the agent starts.
  std::function<void(std::span<const std::byte>)> on_bytes;
  /// Text from the remote side that is not the agent's (its standard error): shown only when the
  /// start fails.
  std::function<void(std::string_view)> on_noise;
  /// Exactly once, last.
  std::function<void(ChannelEnd)> on_end;
};

/// Destroying a channel closes it at once and silences its events.
class Channel {
 public:
  virtual ~Channel() = default;
  /// Queues bytes for the agent's standard input. Never blocks.
  virtual void send(Bytes bytes) = 0;
  /// Bytes queued and not yet handed to the system.
  [[nodiscard]] virtual std::size_t unsent() const = 0;
  /// Stops or resumes reading; unread bytes push back on the agent.
  virtual void pause_reading(bool pause) = 0;
  /// The numeric address by which the node was reached; empty before it is, and for pipes without
  /// one.
  [[nodiscard]] virtual std::string peer_address() const { return {}; }
  /// Sends what is queued, then end-of-file; on_end follows when the other side is done.
  virtual void close() = 0;
};

/// One way to reach nodes. It limits by itself how many connections it opens at once.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Before the event loop runs: what takes time, such as asking the person at this machine for
  /// what these hosts will need.
  virtual void prepare(std::span<const Host> hosts) { (void)hosts; }
  /// Starts `dslaunch agent` on `host` and returns at once; failures arrive as on_end.
  virtual std::unique_ptr<Channel> open(const Host& host, ChannelEvents events) = 0;
};

}  // namespace ds::launcher
