// Interface to libssh: a login over a connected socket, then one command, or channels through a
// jump host. No type of libssh appears in it.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/transport/agent_command.h"
#include "launcher/transport/host_keys/known_hosts.h"
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
  struct Entry;  // status and key, in libssh's form

  SshKeyring();
  const Status& load(const std::string& path);
  /// Decrypts a key. Returns false if the pass phrase is wrong.
  bool unlock(const std::string& path, const std::string& pass_phrase);
  /// Loads a certificate for a key.
  const Status& load_certificate(const std::string& key, const std::string& path);
  /// Returns the key of a file, which is read at the first call.
  const Entry& entry(const std::string& path);
  /// Returns the key combined with a certificate; the plain entry while the key is not ready.
  const Entry& certified(const std::string& key, const std::string& certificate);

 private:
  std::map<std::string, std::shared_ptr<const Entry>> entries_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const Entry>> certified_;
};

/// One key, or all keys of an agent, to try at the login.
struct SshIdentity {
  std::string label;          // for messages
  std::string path{};         // the private key
  std::string certificate{};  // shown with the key; empty: none
  /// Instead of a path: returns a descriptor that speaks the agent protocol and always answers, or
  /// -1.
  std::function<int()> agent_socket{};
};

/// Time limits of the stages.
struct SshStageLimits {
  std::chrono::milliseconds handshake{15000};  // banner, key exchange, host key
  std::chrono::milliseconds auth{20000};
  std::chrono::milliseconds command{15000};  // channel and exec request
};

struct SshLogin {
  UniqueFd socket;                        // connected, non-blocking
  const SshSettings* settings = nullptr;  // lives as long as the connection
  std::string host_key_algorithms;
  std::vector<SshIdentity> identities;
  std::string identities_note;  // which keys could not be tried, and why; appended to a refusal
  SshStageLimits limits;
};

/// How a connection ended. The caller adds the host to the reason.
struct SshLinkEnd {
  ChannelEnd end;
  /// The server dropped the connection before the login was tried: worth another attempt.
  bool transient = false;
};

/// Events of a connection. Only check_host_key comes from inside a call.
struct SshEvents {
  /// Returns why the key is refused, or nothing.
  std::function<std::optional<std::string>(const HostKey&)> check_host_key;
  std::function<void(const std::string& label)> on_identity;  // this one was accepted
  std::function<void()> on_up;             // the command runs, or the jump host takes requests
  std::function<void(SshLinkEnd)> on_end;  // last
  // Events of a command only:
  std::function<void(const std::string&)> on_warning;  // about the program on the node
  std::function<void()> on_copy_wanted;                // the node waits for it: copy_now()
  std::function<void()> on_answered;                   // the command has written its answer
  std::function<void(std::span<const std::byte>)> on_bytes;
  std::function<void(std::string_view)> on_noise;
};

/// The program to run on a node.
struct SshCommand {
  std::string remote_command;    // constant; all arguments travel on the channel
  std::string fallback_command;  // run on the same connection if the first one gives no answer
  /// Returns a copy of this program, for nodes where neither command starts this build. Called once
  /// a run; may be empty.
  std::function<std::optional<AgentCopy>()> copy{};
  std::string answer;   // written by a command that works, possibly after noise; empty: any output
  std::string build{};  // own_build_id(): the build that should answer; empty: any
};

/// A login and a command. Threads: the io_context's. Dropping it closes the socket at once.
class SshLink {
 public:
  virtual ~SshLink() = default;
  virtual void send(Bytes bytes) = 0;
  virtual void send_shared(SharedBytes bytes) = 0;
  [[nodiscard]] virtual std::size_t unsent() const = 0;
  virtual void copy_now() = 0;
  virtual void close() = 0;
};
std::shared_ptr<SshLink> make_ssh_link(asio::io_context& io, SshKeyring& keyring, SshLogin login,
                                       SshCommand command, SshEvents events);

/// Answer to a request for a channel through a jump host.
struct Forwarded {
  UniqueFd socket;       // empty if the request failed
  bool no_room = false;  // the server allows no more channels on this connection
  std::string problem;
};

/// A connection to a jump host, shared by many targets. Threads and end as SshLink.
class SshJump {
 public:
  virtual ~SshJump() = default;
  /// Makes the jump host connect to host:port. `done` comes once, unless on_end comes before.
  virtual void forward(const std::string& host, int port, std::function<void(Forwarded)> done) = 0;
  /// Returns the number of channels that are open or being opened.
  [[nodiscard]] virtual std::size_t forwards() const = 0;
};
std::shared_ptr<SshJump> make_ssh_jump(asio::io_context& io, SshKeyring& keyring, SshLogin login,
                                       SshEvents events);

}  // namespace ds::launcher
