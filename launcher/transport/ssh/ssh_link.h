// Interface to libssh: a login over a connected socket, then one command, or channels through a
// jump host. No type of libssh appears in it.
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
  // other_key: the certificate belongs to another key
  enum class State { ready, missing, encrypted, unusable, other_key };
  struct Status {
    State state = State::missing;
    std::string public_base64;  // of a ready key; of an encrypted one if its .pub file exists
    std::string problem;  // of an unusable one, or an encrypted one that no pass phrase opens; of a
                          // certificate out of date, which is ready
  };
  virtual ~SshKeyring() = default;
  virtual const Status& load(const std::string& path) = 0;
  /// Decrypts a key. Returns false if the pass phrase is wrong.
  virtual bool unlock(const std::string& path, const std::string& pass_phrase) = 0;
  /// Loads a certificate for a key.
  virtual const Status& load_certificate(const std::string& key, const std::string& path) = 0;
};
std::unique_ptr<SshKeyring> make_ssh_keyring();

/// One key, or all keys of an agent, to try at the login.
struct SshIdentity {
  enum class Kind { file, agent };
  Kind kind = Kind::file;
  std::string path;  // file: the private key
  std::function<int()>
      socket;  // agent: a descriptor that speaks the agent protocol and always answers; -1: none
  std::string label;        // for messages
  std::string certificate;  // file: shown with the key; empty: none
};

/// Time limits of the stages.
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
  std::string identities_note;  // which keys could not be tried, and why; appended to a refusal
  SshStageLimits limits;
  std::chrono::seconds alive_interval{0};  // ServerAliveInterval
  int alive_count_max = 3;
};

struct SshLoginEvents {
  /// Returns why the key is refused, or nothing. Called from inside the key exchange.
  std::function<std::optional<std::string>(const HostKey&)> check_host_key;
  std::function<void(const std::string& label)> on_identity;  // this one was accepted
};

/// How a connection ended. The caller adds the host to the reason.
struct SshLinkEnd {
  ChannelEnd end;
  bool transient =
      false;  // the server dropped the connection before the login was tried: worth another attempt
};

struct SshCommand {
  std::string line;
  std::string fallback;  // see SshOptions
  std::string answer;
  std::string build{};  // own_build_id(); empty: any build may answer
  std::function<std::optional<AgentCopy>()>
      copy{};  // called if neither starts this build; may be empty
};

struct SshLinkEvents {
  SshLoginEvents login;
  std::function<void()> on_open;  // the command runs
  /// A copy of this program is run instead of what was found there.
  std::function<void(const std::string& found)> on_replaced;
  /// Another build of dslaunch answered, and there is no copy to run instead.
  std::function<void(const std::string& found)> on_other_build;
  std::function<void()> on_copy_wanted;  // the node waits for the program: copy_now()
  std::function<void()> on_answered;     // the command has written its answer
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

/// Answer to a request for a channel through a jump host.
struct Forwarded {
  UniqueFd socket;       // empty if the request failed
  bool no_room = false;  // the server allows no more channels on this connection
  std::string problem;
};

/// A connection to a jump host, shared by many targets. Threads and events as SshLink.
class SshJump {
 public:
  virtual ~SshJump() = default;
  /// Makes the jump host connect to host:port. `done` comes once, unless on_end comes before.
  virtual void forward(const std::string& host, int port, std::function<void(Forwarded)> done) = 0;
  /// Returns the number of channels that are open or being opened.
  [[nodiscard]] virtual std::size_t forwards() const = 0;
};
std::unique_ptr<SshJump> make_ssh_jump(asio::io_context& io, SshKeyring& keyring, SshLogin login,
                                       SshJumpEvents events);

}  // namespace ds::launcher
