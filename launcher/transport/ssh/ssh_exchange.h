// State that all connections of an ssh transport share: settings, host keys, keys, agents, limits.
#pragma once

#include <asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "launcher/transport/host_warnings.h"
#include "launcher/transport/resolver.h"
#include "launcher/transport/ssh/agent_relay.h"
#include "launcher/transport/ssh/ssh_transport.h"
#include "launcher/transport/ssh_config/ssh_config.h"
#include "launcher/transport/turns.h"

namespace ds::launcher {

class JumpHost;

/// How far an attempt to reach a host got.
struct Reached {
  static Reached failed(std::string stage, std::string problem, bool transient = false) {
    return {{}, {}, std::move(stage), std::move(problem), transient, {}};
  }
  UniqueFd socket{};      // empty if there is none
  std::string address{};  // of the other end, if this machine knows it
  std::string stage{};    // without a socket: how far it got, and why not further
  std::string problem{};
  bool transient = false;
  std::optional<HostKey> certificate{};  // the host's, if it was asked for one and has one
};

struct SshIdentityPlan {
  std::vector<SshIdentity> identities;
  std::string note;  // which keys cannot be tried, and why
};

/// Threads: the io_context's.
class SshExchange : public std::enable_shared_from_this<SshExchange> {
 public:
  SshExchange(asio::io_context& context, SshOptions given);
  ~SshExchange();

  /// Returns the route to a host, with the settings of every hop.
  /// Errors:  Error{config}.
  [[nodiscard]] SshRoute route(const Host& host) const;

  /// Runs the commands of Match exec, and asks for the pass phrases of keys that the hosts need,
  /// once for each key. Called before the event loop runs.
  void prepare(std::span<const Host> hosts);

  /// Returns the algorithms of host certificates to ask a host for before the login; empty if
  /// known_hosts does not name an authority for it.
  std::string certificates_to_ask_for(const SshSettings& settings);

  /// Returns everything that a login over the socket of `reached` needs, except its command.
  SshLogin login(const SshSettings& settings, Reached& reached);
  /// Returns check_host_key and on_identity of that login. `settings` must live as long as they do.
  SshEvents login_events(const SshSettings& settings, const Reached& reached);

  /// Returns this program, for nodes that lack it; nothing if copying is disabled. Read once.
  const std::optional<AgentCopy>& agent_copy();
  /// Returns the user that commands run as on the host, after ssh_config; empty if its settings
  /// cannot be read.
  [[nodiscard]] std::string user_of(const Host& host) const;

  /// Prints a warning, once a run.
  void warn(const std::string& text);
  /// Prints a warning about a host, together with the same ones of other hosts: when no host is
  /// starting any more, and after half a second at the latest.
  void warn_about(const std::string& host, HostWarning warning);
  void print_warnings();

  [[nodiscard]] std::chrono::milliseconds connect_limit(const SshSettings& settings) const;
  std::chrono::milliseconds jitter(int attempt);

  asio::io_context& io;
  const SshOptions options;
  Resolver resolver;
  SshKeyring keyring;
  const std::shared_ptr<Turns> logins;  // hosts between the first attempt and the running command
  const std::shared_ptr<Turns> copies;  // copies of the program between first byte and answer
  int starting = 0;                     // hosts that have neither answered nor ended
  std::map<std::string, std::shared_ptr<JumpHost>> jump_hosts;  // by route_key

 private:
  /// Index of a set of files, and the size of the file that new keys are appended to.
  struct KnownFiles {
    KnownHosts index;
    std::size_t own_size = 0;
    std::string problem{};  // why one of the files cannot be read
  };
  KnownFiles& known_files(const SshSettings& settings);
  const std::string& offered_host_keys(const SshSettings& settings,
                                       const std::optional<HostKey>& certificate);
  AgentRelay* agent(const std::string& socket_path);
  /// Puts configured files first (a server hangs up after 6 keys, and an agent may hold more), then
  /// the agent's keys, then the default files. The identity that was accepted last moves to the
  /// front, because the hosts of a cluster usually accept the same key. With IdentitiesOnly the
  /// agent offers only keys of the configured files. Keys that are still encrypted are left out.
  SshIdentityPlan plan_identities(const SshSettings& settings);
  std::optional<std::string> check_host_key(const SshSettings& settings, const HostKey& key,
                                            const std::optional<HostKey>& certificate);
  /// Returns the public halves of keys that log in here as well as there. A host that shows one of
  /// them as its host key has the secret that all pods of a job share, so it is one of them.
  std::vector<std::string> shared_keys(const SshSettings& settings);
  std::string unused_keys_text(const SshSettings& settings, const HostKeyVerdict& verdict);
  std::optional<std::string> remember(const SshSettings& settings, const HostKey& key,
                                      KnownFiles& files);
  void unlock_keys_of(const SshSettings& settings);
  void unlock_key(const std::string& path);

  LocalUser local_;
  SshConfig config_;
  std::map<std::string, KnownFiles> known_files_;  // by the names of the files
  std::map<std::string, std::unique_ptr<AgentRelay>> agents_;
  std::map<std::string, std::string> offered_host_keys_;  // by all inputs
  std::map<std::string, std::string> authorized_;         // texts of authorized_keys, by path
  std::set<std::string> warned_;
  HostWarnings warnings_;
  asio::steady_timer warning_timer_;
  std::optional<AgentCopy> agent_copy_;
  bool asked_for_copy_ = false;
  std::set<std::string> asked_;  // keys whose pass phrase was asked for
  std::string last_good_identity_;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace ds::launcher
