// Steps of reading ssh_config: splits lines, chooses the directives that hold for one host, expands
// and parses their values. Pure; shared by the sources of ssh_config and their tests.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

struct ConfigLine {
  std::string keyword;  // lower case; empty for a blank line or a comment
  std::vector<std::string> words;
};

/// Splits `Keyword value "quoted value"`, also `Keyword=value`; a word that starts with # begins a
/// comment. Errors:  Error{config} for a quote that is not closed.
ConfigLine parse_config_line(std::string_view line, const TextPlace& place);

/// Throws Error{config} with the message `file:line: what`.
[[noreturn]] void config_error(const TextPlace& place, std::string_view what,
                               std::string hint = {});

using SshTokens = std::map<char, std::string>;

/// Whether the value has no token and no variable, as most values.
bool is_plain_text(std::string_view text);
/// Replaces %x by `tokens` and ${NAME} by the environment; %% is a percent sign.
/// Errors:  Error{config} for a token that is not in `tokens` and a variable that is not set.
std::string expand_ssh_text(const std::string& text, const TextPlace& place,
                            const SshTokens& tokens, const LocalUser& local);

/// Replaces only %x: in a shell command, the shell expands ${NAME}.
/// Errors:  Error{config}; also for a token whose value is more than one plain word of a shell.
std::string expand_ssh_command(const std::string& command, const TextPlace& place,
                               const SshTokens& tokens);

/// Parses a time such as `90`, `1m30s`, `2h` into seconds; returns nothing if it is not a time.
std::optional<long> ssh_seconds(std::string_view text);
std::optional<long> ssh_number(std::string_view text);

/// The first value of each keyword in all blocks that hold for the host.
class ChosenDirectives {
 public:
  using Directive = SshConfig::Directive;
  ChosenDirectives(const std::vector<SshConfig::Block>& blocks, const Host& host,
                   const LocalUser& local);

  /// Returns null if the keyword is not set. Errors:  Error{config} if it has no value.
  [[nodiscard]] const Directive* find(std::string_view keyword) const;
  /// Returns all values of a keyword whose lines add up.
  [[nodiscard]] const std::vector<const Directive*>& all(std::string_view keyword) const;
  [[nodiscard]] std::string user() const;
  [[nodiscard]] std::string host_name() const;
  /// Returns the values of %x; `key_name` is that of %k.
  [[nodiscard]] SshTokens tokens(const std::string& key_name, const std::string& port) const;
  /// Returns the criteria of Match that are not supported.
  [[nodiscard]] const std::set<std::string>& notes() const { return notes_; }

 private:
  using Condition = SshConfig::Condition;
  void read(const std::vector<SshConfig::Block>& blocks);
  bool match_holds(const Condition& condition);
  /// Returns nothing if the criterion is not supported.
  [[nodiscard]] std::optional<bool> criterion_holds(const Condition& condition,
                                                    const std::string& criterion,
                                                    const std::string& value) const;
  void take(const Directive& directive);

  const Host& host_;
  const LocalUser& local_;
  bool final_pass_ = false;
  bool final_wanted_ = false;
  std::string subject_;  // what Host lines match: the name typed, or HostName in the final pass
  std::map<std::string, const Directive*, std::less<>> first_;
  std::map<std::string, std::vector<const Directive*>, std::less<>> lists_;
  std::set<std::string> notes_;
};

/// Parses ProxyJump: `[user@]host[:port]` or `ssh://[user@]host[:port]`, separated by commas.
/// Errors:  Error{config}.
std::vector<Host> parse_jump_hosts(std::string_view text, const TextPlace& place);

/// Returns a line for each directive that is set for the host, matters, and is not supported.
std::vector<std::string> ignored_directives(const ChosenDirectives& chosen);

}  // namespace ds::launcher
