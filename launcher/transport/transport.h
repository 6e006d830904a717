// Interface of transports: each gives the job a byte pipe to the agent of a node.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "launcher/hosts/hostfile.h"
#include "launcher/wire/send_queue.h"

namespace ds::launcher {

/// The stages of reaching a host, as messages name them.
namespace stage {
inline constexpr const char* kConfig = "configuration";
inline constexpr const char* kLookup = "name lookup";
inline constexpr const char* kConnect = "connection";
inline constexpr const char* kKeyExchange = "key exchange";
inline constexpr const char* kHostKey = "host key";
inline constexpr const char* kLogin = "authentication";
inline constexpr const char* kStart = "agent start";
inline constexpr const char* kRunning = "running";
}  // namespace stage

/// Why a channel ended.
struct ChannelEnd {
  enum class Kind {
    closed,       // the agent closed it or ended; the normal end
    unreachable,  // never reached: DNS, route, key or login; `reason` says which and what to do
    no_agent,     // reached, but no agent could be started there
    lost          // the agent ran, then the connection broke
  };
  Kind kind = Kind::closed;
  std::string reason;   // one line with host and cause, for people; empty for closed
  std::string stage{};  // one of `stage`; a jump host's has its name in front
};

/// Events of a channel. All calls come from the io_context's thread, never from inside open() or
/// send().
struct ChannelEvents {
  /// Bytes of the agent's standard output, in order. They are frames (launcher/wire/frame.h) after
  /// a preamble that the reader skips: login shells may print before the agent starts.
  std::function<void(std::span<const std::byte>)> on_bytes;
  /// Text that the remote side wrote to standard error. It is shown only when the start fails.
  std::function<void(std::string_view)> on_noise;
  /// Comes exactly once, as the last event.
  std::function<void(ChannelEnd)> on_end;
};

/// Destroying a channel closes it at once and silences its events.
class Channel {
 public:
  virtual ~Channel() = default;
  /// Queues bytes for the agent's standard input. Never blocks.
  virtual void send(Bytes bytes) = 0;
  /// As send(); the bytes stay shared where the channel sends them as they are.
  virtual void send_shared(SharedBytes bytes) { send(Bytes(*bytes)); }
  /// Returns the number of bytes that are queued and not yet handed to the system.
  [[nodiscard]] virtual std::size_t unsent() const = 0;
  /// Returns the numeric address of the node; empty before it is reached, and for channels without
  /// one.
  [[nodiscard]] virtual std::string peer_address() const { return {}; }
  /// Sends what is queued, then end-of-file; on_end follows when the other side is done.
  virtual void close() = 0;
};

/// Reaches nodes by one method. It limits by itself how many connections it opens at once.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Does what takes time before the event loop runs, such as asking for the pass phrases that
  /// these hosts need.
  virtual void prepare(std::span<const Host> hosts) { (void)hosts; }
  /// Returns the user that programs run as on `host`, where the transport's own settings decide it;
  /// empty: the hostfile or the launcher's user does.
  [[nodiscard]] virtual std::string user_of(const Host& host) const {
    (void)host;
    return {};
  }
  /// Starts `dslaunch agent` on `host` and returns at once. A failure arrives as on_end.
  virtual std::unique_ptr<Channel> open(const Host& host, ChannelEvents events) = 0;
};

}  // namespace ds::launcher
