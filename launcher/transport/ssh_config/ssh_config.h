// Settings of ~/.ssh/config for one host, and the route to it. Pure: files, environment and user
// are passed as functions and values.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

/// How an unknown host key is treated. A changed key is always refused.
enum class HostKeyChecking { strict, accept_new, accept_any };

/// The local user: name, home folder, environment.
struct LocalUser {
  std::string name;
  std::string home;
  int uid = 0;
  std::string host_name;  // of this machine, for %l
  std::function<std::optional<std::string>(const std::string&)> environment;  // for ${NAME}
  std::function<bool(const std::string& command)> run = {};  // Match exec: whether it exits 0
};

enum class AddressFamily { any, inet, inet6 };

/// Lists of algorithms as in the file: a list, or `+`, `-`, `^` and changes to the default.
struct SshAlgorithms {
  std::string kex;
  std::string ciphers;
  std::string macs;
  std::string host_keys;
  std::string public_keys;  // signatures at authentication
};

/// All settings that the transport needs to reach one host.
struct SshSettings {
  std::string alias;      // as typed
  std::string host_name;  // whose host keys are checked
  std::string address;    // what is looked up and dialed: the hostfile's addr=, or host_name
  std::string found_by;   // the name of an address found before: Host::found_by
  int port = 22;
  std::string user;
  std::vector<std::string> identity_files;  // in order; the default files when none is configured
  bool identities_configured = false;       // identity_files come from the user's own lines
  bool identities_only = false;
  std::vector<std::string> certificate_files;
  bool public_keys = true;                     // PubkeyAuthentication
  bool batch_mode = false;                     // no pass phrase is asked for
  std::string identity_agent;                  // socket path; empty: none
  std::vector<std::string> known_hosts_files;  // the user's own; accept-new writes to the first
  std::vector<std::string> global_known_hosts_files;  // the system's
  HostKeyChecking host_key_checking = HostKeyChecking::strict;
  std::string host_key_alias;
  bool hash_known_hosts = false;
  std::vector<std::string> revoked_host_keys;  // files
  std::optional<std::chrono::seconds> connect_timeout;
  int connection_attempts = 1;
  AddressFamily address_family = AddressFamily::any;
  std::string bind_address;    // numeric
  std::string bind_interface;  // if no address is given
  bool tcp_keep_alive = true;
  std::chrono::seconds server_alive_interval{0};  // 0: the server is not asked
  int server_alive_count_max = 3;
  SshAlgorithms algorithms;
  std::vector<Host> jumps;         // ProxyJump, the nearest to this machine first
  std::string proxy_command;       // the complete shell command; never together with jumps
  std::vector<std::string> notes;  // directives that are not supported, one line each
};

/// The parsed files; returns the settings of any number of hosts.
/// Promise: the first value found wins, as in ssh; IdentityFile and CertificateFile lines add up;
///          `Match final` has the file read a second time, with the HostName found; criteria that
///          are not supported never match and leave a note; unknown keywords are ignored.
class SshConfig {
 public:
  /// Returns the text of a file; nothing if it does not exist.
  using Reader = std::function<std::optional<std::string>(const std::string& path)>;
  /// Returns the paths that match an absolute Include pattern, sorted.
  using Glob = std::function<std::vector<std::string>(const std::string& pattern)>;
  struct Sources {
    Reader read;
    Glob glob;
    std::string include_base;  // of relative Include paths: ~/.ssh, or /etc/ssh
    std::string home;
  };

  /// Adds a file. Values of files that were added before win.
  /// Errors:  Error{config}, message `file:line: what`.
  void add(std::string_view text, const std::string& file_name, const Sources& sources);

  /// Errors:  Error{config} with `file:line` when a value or token makes no sense.
  [[nodiscard]] SshSettings resolve(const Host& host, const LocalUser& local) const;

  /// Whether resolving a host may run commands (Match exec).
  [[nodiscard]] bool runs_commands() const;

  struct Directive {
    std::string keyword;  // lower case
    std::vector<std::string> values;
    TextPlace place;
  };
  struct Condition {
    enum class Kind { host, match };
    Kind kind = Kind::host;
    std::vector<std::string> words;
    TextPlace place;
  };
  /// Directives that count where all conditions hold (an included file keeps those of the including
  /// block).
  struct Block {
    std::vector<Condition> conditions;
    std::vector<Directive> directives;
  };

 private:
  std::vector<Block> blocks_;
};

std::string to_lower(std::string_view text);
/// Whether `name` matches the glob `pattern` of ssh: `*` and `?`, letters in any case.
bool ssh_pattern_matches(std::string_view pattern, std::string_view name);
/// Whether one pattern of the list matches and no pattern with a leading `!` does.
bool ssh_pattern_list_matches(const std::vector<std::string>& patterns, std::string_view name);
/// Splits a comma list such as `node*,!node7`.
std::vector<std::string> split_patterns(std::string_view list);

/// Returns a comma list of algorithms as a value of ssh_config changes it. `known` is the default.
/// `wanted` is empty (the default), a list in its place, or `+list` (behind it), `^list` (before
/// it),
/// `-list` (without these; patterns allowed).
std::string change_algorithms(std::string_view known, std::string_view wanted);

/// Route to a host: its jump hosts, each with its own settings.
struct SshRoute {
  std::vector<SshSettings> jumps;  // in the order of connecting; often empty
  SshSettings target;
};

/// Resolves the target's ProxyJump. The first of its hosts may have a ProxyJump or ProxyCommand of
/// its own, as with ssh. A host that names itself as its jump (`Host *`, `ProxyJump gate`) is
/// reached directly.
/// Errors:  Error{config}, also for a cycle of jump hosts.
SshRoute plan_route(const SshConfig& config, const Host& host, const LocalUser& local);

/// Returns a key that is equal for jump hosts that can share a connection: user, address, port and
/// the route to it.
std::string route_key(std::span<const SshSettings> jumps);

}  // namespace ds::launcher
