// What all connections of an ssh transport share: settings, host keys, keys, agents, the window.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "launcher/transport/resolver.h"
#include "launcher/transport/ssh/agent_relay.h"
#include "launcher/transport/ssh/ssh_transport.h"
#include "launcher/transport/ssh_config/ssh_route.h"
#include "launcher/transport/turns.h"

namespace ds::launcher {

class JumpHost;

/// Threads: the io_context's.
class SshExchange : public std::enable_shared_from_this<SshExchange> {
 public:
  SshExchange(asio::io_context& context, SshOptions given);
  SshExchange(const SshExchange&) = delete;
  SshExchange& operator=(const SshExchange&) = delete;
  ~SshExchange();

  /// The way to a host, with the settings of every hop.
  /// Errors:  Error{config}.
  [[nodiscard]] SshRoute route(const Host& host) const;

  /// Does what takes time before the event loop runs: the commands of Match exec, and the question
  /// for the pass phrases of the keys that the hosts will need, once for each key.
  void prepare(std::span<const Host> hosts);

  /// All that a login over `socket` needs, but its command.
  SshLogin login(const SshSettings& settings, UniqueFd socket);
  /// `settings` must live as long as the events.
  SshLoginEvents login_events(const SshSettings& settings);

  /// The program for nodes that have none, read once; nothing if they shall get none.
  const std::optional<AgentCopy>& agent_copy();
  /// Says once a run that nodes get it.
  void tell_of_copy(const std::string& host);

  /// The shared connections to the last of the jump hosts.
  JumpHost& jump_host(std::span<const SshSettings> jumps);

  /// Says it once a run.
  void warn(const std::string& text);

  [[nodiscard]] std::chrono::milliseconds connect_limit(const SshSettings& settings) const;
  std::chrono::milliseconds jitter(int attempt);

  asio::io_context& io;
  const SshOptions options;
  Resolver resolver;
  const std::unique_ptr<SshKeyring> keyring;
  const std::shared_ptr<Turns> logins;  // from a host's start to its running command
  const std::shared_ptr<Turns> copies;  // of the program, each from its first byte to its answer

 private:
  /// The index of a set of files, and the size of the one that new keys are written to.
  struct KnownFiles {
    KnownHosts index;
    std::size_t own_size = 0;
  };
  KnownFiles& known_files(const SshSettings& settings);
  const std::string& offered_host_keys(const std::vector<std::string>& types,
                                       const std::string& wanted, bool certificates);
  AgentRelay* agent(const std::string& socket_path);
  std::optional<std::string> check_host_key(const SshSettings& settings, const HostKey& shown);
  /// The public halves of keys that log in here as well as there: whoever shows one of them as its
  /// host key has the secret that all pods of a job share, and so is one of them.
  std::vector<std::string> shared_keys(const SshSettings& settings);
  std::string unused_keys_text(const SshSettings& settings, const HostKeyVerdict& verdict);
  bool is_shared_key(const SshSettings& settings, const HostKey& shown);
  std::optional<std::string> remember(const SshSettings& settings, const HostKey& key,
                                      KnownFiles& files);
  void unlock_keys_of(const SshSettings& settings);
  void unlock_key(const std::string& path);

  LocalUser local_;
  SshConfig config_;
  std::map<std::string, KnownFiles> known_files_;  // by the names of the files
  std::map<std::string, std::unique_ptr<AgentRelay>> agents_;
  std::map<std::string, std::unique_ptr<JumpHost>> jump_hosts_;  // by route_key
  std::map<std::string, std::string> offered_host_keys_;         // by all that they depend on
  std::map<std::string, std::string> authorized_;  // texts of authorized_keys, by path
  std::set<std::string> warned_;
  std::optional<AgentCopy> agent_copy_;
  bool asked_for_copy_ = false;
  bool told_of_copy_ = false;
  std::set<std::string> asked_;  // keys whose pass phrase was asked for
  std::string last_good_identity_;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace ds::launcher
