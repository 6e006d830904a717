// ssh connections over connected sockets: host key, authentication, then one command, or ways
// through a jump host. No libssh type leaves its source.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/transport/host_keys/known_hosts.h"
#include "launcher/transport/ssh/agent_copy.h"
#include "launcher/transport/ssh_config/ssh_config.h"
#include "launcher/transport/transport.h"

namespace ds::launcher {

/// Private key files, each read once and shared by all connections.
class SshKeyring {
 public:
  // other_key: a certificate of another key
  enum class State { ready, missing, encrypted, unusable, other_key };
  struct Status {
    State state = State::missing;
    std::string
        public_base64;    // of a ready key; of an encrypted one if its .pub file lies beside it
    std::string problem;  // of an unusable one, or an encrypted one that no pass phrase opens; of a
                          // certificate out of date, which is ready
  };
  virtual ~SshKeyring() = default;
  virtual const Status& load(const std::string& path) = 0;
  /// Decrypts a key that is encrypted; false if the pass phrase is wrong.
  virtual bool unlock(const std::string& path, const std::string& pass_phrase) = 0;
  /// A certificate for a key; the key is ready only together with it.
  virtual const Status& load_certificate(const std::string& key, const std::string& path) = 0;
};
std::unique_ptr<SshKeyring> make_ssh_keyring();

/// Whether servers can be asked for host certificates; SshLoginEvents::check_host_key then gets
/// them.
bool ssh_takes_certificates();

/// One thing to try at authentication.
struct SshIdentity {
  enum class Kind { file, agent };
  Kind kind = Kind::file;
  std::string path;  // file: the private key
  std::function<int()>
      socket;  // agent: a descriptor that speaks the agent protocol and always answers; -1: none
  std::string label;        // for messages
  std::string certificate;  // file: shown with the key; empty: none
};

/// How long each stage may take.
struct SshStageLimits {
  std::chrono::milliseconds handshake{15000};  // banner, key exchange, host key
  std::chrono::milliseconds auth{20000};
  std::chrono::milliseconds command{15000};  // channel and exec request
};

struct SshLogin {
  UniqueFd socket;  // connected, non-blocking
  std::string user;
  int port = 22;
  std::string host_key_algorithms;
  SshAlgorithms algorithms;  // as ssh_config spells them, without host_keys
  std::vector<SshIdentity> identities;
  std::string identities_note;  // what could not be tried and why; ends the text of a refusal
  SshStageLimits limits;
  std::chrono::milliseconds patience{100};  // with a near server that has not greeted
  std::chrono::seconds alive_interval{0};   // ServerAliveInterval
  int alive_count_max = 3;
};

struct SshLoginEvents {
  /// Why the key is refused, or nothing. Called from inside the handshake.
  std::function<std::optional<std::string>(const HostKey&)> check_host_key;
  std::function<void(const std::string& label)> on_identity;  // this one was accepted
};

/// How a connection ended. The reason names no host: the caller puts it in front.
struct SshLinkEnd {
  ChannelEnd end;
  bool transient =
      false;  // the server dropped the connection before it was fairly tried: worth another attempt
};

struct SshCommand {
  std::string line;
  std::string fallback;  // see SshOptions
  std::string answer;
  std::function<std::optional<AgentCopy>()> copy{};  // asked once both have failed; may be empty
};

struct SshLinkEvents {
  SshLoginEvents login;
  std::function<void()> on_open;         // the command runs
  std::function<void()> on_copy_wanted;  // the node waits for the program: copy_now()
  std::function<void()> on_copied;       // it runs it
  std::function<void(std::span<const std::byte>)> on_bytes;
  std::function<void(std::string_view)> on_noise;
  std::function<void(SshLinkEnd)> on_end;
};

/// Threads: the io_context's. Events never come from inside a call. Destroying it closes the socket
/// at once.
class SshLink {
 public:
  virtual ~SshLink() = default;
  virtual void send(Bytes bytes) = 0;
  [[nodiscard]] virtual std::size_t unsent() const = 0;
  virtual void pause_reading(bool pause) = 0;
  virtual void copy_now() = 0;
  virtual void close() = 0;
};
std::unique_ptr<SshLink> make_ssh_link(asio::io_context& io, SshKeyring& keyring, SshLogin login,
                                       SshCommand command, SshLinkEvents events);

struct SshJumpEvents {
  SshLoginEvents login;
  std::function<void()> on_up;             // logged in; forward() may be called
  std::function<void(SshLinkEnd)> on_end;  // last; no `done` of a forward comes after it
};

/// What became of a request for a way through a jump host.
struct Forwarded {
  UniqueFd socket;       // empty if there is none
  bool no_room = false;  // the server has too many on this connection: try another
  std::string problem;
};

/// A connection to a jump host, shared by many targets. Threads and events as SshLink.
class SshJump {
 public:
  virtual ~SshJump() = default;
  /// Has the jump host connect to host:port. `done` comes once, unless on_end does.
  virtual void forward(const std::string& host, int port, std::function<void(Forwarded)> done) = 0;
  /// Ways that are open or being opened.
  [[nodiscard]] virtual std::size_t forwards() const = 0;
};
std::unique_ptr<SshJump> make_ssh_jump(asio::io_context& io, SshKeyring& keyring, SshLogin login,
                                       SshJumpEvents events);

}  // namespace ds::launcher
