// Which directives of ssh_config count for one host, and the text of their values. Pure; shared by
// the sources of ssh_config.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

using SshTokens = std::map<char, std::string>;

/// Whether it stands for itself, as most do: then no tokens need be gathered for it.
bool is_plain_text(std::string_view text);
/// Replaces %x by `tokens` and ${NAME} by the environment; %% is a percent sign.
/// Errors:  Error{config} for a token that is not in `tokens` and a variable that is not set.
std::string expand_ssh_text(const std::string& text, const TextPlace& place,
                            const SshTokens& tokens, const LocalUser& local);

/// Replaces %x alone: in a shell's command, ${NAME} is the shell's.
/// Errors:  Error{config}; also for a token whose value a shell would not take as one plain word.
std::string expand_ssh_command(const std::string& command, const TextPlace& place,
                               const SshTokens& tokens);

/// A time as ssh writes it: `90`, `1m30s`, `2h`; nothing if it is none. Seconds.
std::optional<long> ssh_seconds(std::string_view text);
std::optional<long> ssh_number(std::string_view text);
std::string ssh_lower(std::string_view text);

/// The first value of each keyword over all blocks that hold for the host.
class ChosenDirectives {
 public:
  using Directive = SshConfig::Directive;
  ChosenDirectives(const std::vector<SshConfig::Block>& blocks, const Host& host,
                   const LocalUser& local);

  /// Null if there is none. Errors:  Error{config} for one without a value.
  [[nodiscard]] const Directive* find(std::string_view keyword) const;
  /// Of a keyword whose lines add up.
  [[nodiscard]] const std::vector<const Directive*>& all(std::string_view keyword) const;
  [[nodiscard]] std::string user() const;
  [[nodiscard]] std::string host_name() const;
  /// Criteria of Match that are not known.
  [[nodiscard]] const std::set<std::string>& notes() const { return notes_; }

 private:
  using Condition = SshConfig::Condition;
  void read(const std::vector<SshConfig::Block>& blocks);
  bool holds(const SshConfig::Block& block);
  bool match_holds(const Condition& condition);
  /// Nothing if the criterion is not known.
  [[nodiscard]] std::optional<bool> criterion_holds(const Condition& condition,
                                                    const std::string& criterion,
                                                    const std::string& value) const;
  [[nodiscard]] bool command_succeeds(const Condition& condition, const std::string& command) const;
  void take(const Directive& directive);

  const Host& host_;
  const LocalUser& local_;
  bool final_pass_ = false;
  bool final_wanted_ = false;
  std::string subject_;  // what Host lines look at: the name typed, in the final pass HostName
  std::map<std::string, const Directive*, std::less<>> first_;
  std::map<std::string, std::vector<const Directive*>, std::less<>> lists_;
  std::set<std::string> notes_;
};

}  // namespace ds::launcher
