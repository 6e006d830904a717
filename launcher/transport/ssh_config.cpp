// Picks from the blocks of ssh_config the values that count for one host, and expands their tokens.
#include "launcher/transport/ssh_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>

#include "engine/base/error.h"
#include "engine/base/text_error.h"
#include "launcher/transport/ssh_config_parse.h"

namespace ds::launcher {

namespace {

using Block = SshConfig::Block;
using Condition = SshConfig::Condition;
using Directive = SshConfig::Directive;

constexpr long kMaxTimeout = 86400;

std::string to_lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::optional<long> to_number(const std::string& text) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Collects, directive by directive, the first value of each keyword.
class Resolver {
 public:
  Resolver(const Host& host, const LocalUser& local) : host_(host), local_(local) {}

  SshSettings run(const std::vector<Block>& blocks) {
    for (const Block& block : blocks) {
      if (!holds(block)) continue;
      for (const Directive& directive : block.directives) take(directive);
    }
    return finish();
  }

 private:
  bool holds(const Block& block) {
    return std::ranges::all_of(block.conditions, [&](const Condition& condition) {
      return condition.kind == Condition::Kind::host
                 ? ssh_pattern_list_matches(condition.words, host_.name)
                 : match_holds(condition);
    });
  }

  bool match_holds(const Condition& condition) {
    for (std::size_t i = 0; i < condition.words.size(); ++i) {
      std::string criterion = to_lower(condition.words[i]);
      const bool negated = criterion.starts_with('!');
      if (negated) criterion.erase(0, 1);
      if (criterion == "all") continue;
      if (criterion == "canonical" || criterion == "final") return note_match(condition, criterion);
      if (++i == condition.words.size())
        config_error(condition.place, "Match " + criterion + " without a value");
      const std::optional<std::string> subject = subject_of(criterion);
      if (!subject) return note_match(condition, criterion);
      if (ssh_pattern_list_matches(split_patterns(condition.words[i]), *subject) == negated)
        return false;
    }
    return true;
  }

  [[nodiscard]] std::optional<std::string> subject_of(const std::string& criterion) const {
    if (criterion == "host") return first_.contains("hostname") ? host_name() : host_.name;
    if (criterion == "originalhost") return host_.name;
    if (criterion == "user") return user();
    if (criterion == "localuser") return local_.name;
    return std::nullopt;
  }

  bool note_match(const Condition& condition, const std::string& criterion) {
    notes_.insert(fmt::format("{}:{}: Match {} is not supported; its block is left out",
                              condition.place.file, condition.place.line,
                              printable_text(criterion, 40)));
    return false;
  }

  void take(const Directive& directive) {
    if (directive.keyword == "identityfile") {
      need_value(directive);
      identity_files_.push_back(&directive);
    } else {
      first_.try_emplace(directive.keyword, &directive);
    }
  }

  static void need_value(const Directive& directive) {
    if (directive.values.empty())
      config_error(directive.place, directive.keyword + " without a value");
  }

  [[nodiscard]] const Directive* find(const std::string& keyword) const {
    const auto found = first_.find(keyword);
    if (found == first_.end()) return nullptr;
    need_value(*found->second);
    return found->second;
  }

  [[nodiscard]] std::string user() const {
    if (!host_.user.empty()) return host_.user;
    const Directive* directive = find("user");
    return directive != nullptr ? directive->values.front() : local_.name;
  }

  [[nodiscard]] std::string host_name() const {
    const Directive* directive = find("hostname");
    if (directive == nullptr) return host_.name;
    return expand(directive->values.front(), *directive, {{'h', host_.name}, {'n', host_.name}});
  }

  [[nodiscard]] int port() const {
    if (host_.port != 0) return host_.port;
    const Directive* directive = find("port");
    if (directive == nullptr) return 22;
    const auto number = to_number(directive->values.front());
    if (!number || *number < 1 || *number > 65535)
      config_error(directive->place,
                   "Port '" + directive->values.front() + "' is not a number from 1 to 65535");
    return static_cast<int>(*number);
  }

  [[nodiscard]] bool flag(const std::string& keyword) const {
    const Directive* directive = find(keyword);
    if (directive == nullptr) return false;
    const std::string value = to_lower(directive->values.front());
    if (value == "yes" || value == "true") return true;
    if (value == "no" || value == "false") return false;
    config_error(directive->place, fmt::format("{} is '{}', not yes or no", keyword, value));
  }

  using Tokens = std::map<char, std::string>;

  /// Replaces %x and ${NAME}; %% is a percent sign.
  [[nodiscard]] std::string expand(const std::string& text, const Directive& directive,
                                   const Tokens& tokens) const {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '%') {
        const char token = i + 1 < text.size() ? text[i + 1] : ' ';
        if (token != '%' && !tokens.contains(token))
          config_error(directive.place, fmt::format("token %{} is not known here", token),
                       "%% is a percent sign");
        out += token == '%' ? "%" : tokens.at(token);
        ++i;
      } else if (text.compare(i, 2, "${") == 0 && text.find('}', i) != std::string::npos) {
        const std::size_t end = text.find('}', i);
        const std::string name = text.substr(i + 2, end - i - 2);
        const auto value = local_.environment ? local_.environment(name) : std::nullopt;
        if (!value) config_error(directive.place, "environment variable " + name + " is not set");
        out += *value;
        i = end;
      } else {
        out += text[i];
      }
    }
    return out;
  }

  /// A path with ~ and the tokens of file names.
  [[nodiscard]] std::string expand_path(std::string path, const Directive& directive,
                                        const SshSettings& s) const {
    if (path == "~" || path.starts_with("~/")) path = local_.home + path.substr(1);
    const std::string short_name = local_.host_name.substr(0, local_.host_name.find('.'));
    return expand(path, directive,
                  {{'d', local_.home},
                   {'h', s.host_name},
                   {'i', std::to_string(local_.uid)},
                   {'k', s.host_key_alias.empty() ? s.host_name : s.host_key_alias},
                   {'l', local_.host_name},
                   {'L', short_name},
                   {'n', host_.name},
                   {'p', std::to_string(s.port)},
                   {'r', s.user},
                   {'u', local_.name}});
  }

  void refuse_proxies() const {
    for (const char* keyword : {"proxyjump", "proxycommand"}) {
      const Directive* directive = find(keyword);
      if (directive == nullptr || to_lower(directive->values.front()) == "none") continue;
      config_error(
          directive->place,
          fmt::format("host {} is to be reached by {}, which is not supported yet", host_.name,
                      std::string(keyword) == "proxyjump" ? "ProxyJump" : "ProxyCommand"),
          "name an address that this machine reaches by itself, or start dslaunch on the jump "
          "host");
    }
  }

  [[nodiscard]] HostKeyChecking host_key_checking() const {
    const Directive* directive = find("stricthostkeychecking");
    if (directive == nullptr) return HostKeyChecking::strict;
    const std::string value = to_lower(directive->values.front());
    // `ask` cannot ask here: many hosts at once and no terminal of their own. It counts as yes.
    if (value == "yes" || value == "true" || value == "ask") return HostKeyChecking::strict;
    if (value == "accept-new") return HostKeyChecking::accept_new;
    if (value == "no" || value == "off" || value == "false") return HostKeyChecking::accept_any;
    config_error(directive->place,
                 "StrictHostKeyChecking is '" + value + "', not yes, accept-new, ask or no");
  }

  [[nodiscard]] std::vector<std::string> paths(const std::string& keyword,
                                               const std::vector<std::string>& fallback,
                                               const SshSettings& s) const {
    const Directive* directive = find(keyword);
    if (directive == nullptr) return fallback;
    std::vector<std::string> out;
    for (const std::string& value : directive->values)
      if (to_lower(value) != "none") out.push_back(expand_path(value, *directive, s));
    return out;
  }

  void take_identities(SshSettings& s) const {
    for (const Directive* directive : identity_files_) {
      s.identities_configured = true;
      if (to_lower(directive->values.front()) == "none") continue;
      const std::string path = expand_path(directive->values.front(), *directive, s);
      if (std::ranges::find(s.identity_files, path) == s.identity_files.end())
        s.identity_files.push_back(path);
    }
    if (s.identities_configured) return;
    for (const char* name : {"id_ed25519", "id_ecdsa", "id_rsa"})
      s.identity_files.push_back(local_.home + "/.ssh/" + name);
  }

  [[nodiscard]] std::string identity_agent(const SshSettings& s) const {
    const Directive* directive = find("identityagent");
    std::string value = directive == nullptr ? "SSH_AUTH_SOCK" : directive->values.front();
    if (value == "none") return {};
    if (value == "SSH_AUTH_SOCK") value = "$SSH_AUTH_SOCK";
    if (value.starts_with('$') && !value.starts_with("${"))
      return local_.environment ? local_.environment(value.substr(1)).value_or("") : "";
    return expand_path(value, *directive, s);
  }

  SshSettings finish() const {
    refuse_proxies();
    SshSettings s;
    s.alias = host_.name;
    s.host_name = host_name();
    s.port = port();
    s.user = user();
    if (const Directive* alias = find("hostkeyalias")) s.host_key_alias = alias->values.front();
    s.identities_only = flag("identitiesonly");
    s.hash_known_hosts = flag("hashknownhosts");
    s.host_key_checking = host_key_checking();
    s.known_hosts_files =
        paths("userknownhostsfile",
              {local_.home + "/.ssh/known_hosts", local_.home + "/.ssh/known_hosts2"}, s);
    s.global_known_hosts_files =
        paths("globalknownhostsfile", {"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"}, s);
    take_identities(s);
    s.identity_agent = identity_agent(s);
    if (const Directive* timeout = find("connecttimeout")) {
      const auto seconds = to_number(timeout->values.front());
      if (!seconds && to_lower(timeout->values.front()) != "none")
        config_error(timeout->place, "ConnectTimeout is not a number of seconds");
      if (seconds && *seconds > kMaxTimeout)
        config_error(timeout->place, fmt::format("ConnectTimeout is more than {} s", kMaxTimeout));
      if (seconds && *seconds > 0) s.connect_timeout = std::chrono::seconds(*seconds);
    }
    s.notes.assign(notes_.begin(), notes_.end());
    return s;
  }

  const Host& host_;
  const LocalUser& local_;
  std::map<std::string, const Directive*> first_;
  std::vector<const Directive*> identity_files_;
  std::set<std::string> notes_;
};

}  // namespace

SshSettings SshConfig::resolve(const Host& host, const LocalUser& local) const {
  return Resolver(host, local).run(blocks_);
}

}  // namespace ds::launcher
