// Walks the blocks of ssh_config once, or twice if a Match wants the final names; lists the
// directives that dslaunch does not support.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text_error.h"
#include "launcher/transport/ssh_config/ssh_config_parts.h"

namespace ds::launcher {

namespace {

/// ProxyJump and ProxyCommand exclude each other: the first of the two counts.
std::string_view slot_of(std::string_view keyword) {
  return keyword == "proxyjump" || keyword == "proxycommand" ? "proxy" : keyword;
}

void need_value(const SshConfig::Directive& directive) {
  if (directive.values.empty())
    config_error(directive.place, directive.keyword + " without a value");
}

struct Ignored {
  std::string_view keyword;
  std::string_view harmless;  // the value that changes nothing for dslaunch
  std::string_view why;
};
constexpr Ignored kIgnored[] = {
    {"casignaturealgorithms", "", "certificates may be signed by ed25519, ecdsa and rsa-sha2"},
    {"canonicalizehostname", "no", "names are taken as they are"},
    {"forwardagent", "no", "no agent is forwarded to the nodes"},
    {"knownhostscommand", "none", "only files are asked for host keys"},
    {"pkcs11provider", "none", "keys on tokens are used through an agent only"},
    {"remotecommand", "none", "nodes run dslaunch"},
    {"requiredrsasize", "", "RSA keys of any size are taken"},
    {"verifyhostkeydns", "no", "only known_hosts is asked for host keys"},
    {"proxyusefdpass", "no", "ProxyCommand is a pipe"},
};

}  // namespace

ChosenDirectives::ChosenDirectives(const std::vector<SshConfig::Block>& blocks, const Host& host,
                                   const LocalUser& local)
    : host_(host), local_(local), subject_(host.name) {
  read(blocks);
  if (!final_wanted_) return;
  final_pass_ = true;
  subject_ = host_name();
  read(blocks);
}

void ChosenDirectives::read(const std::vector<SshConfig::Block>& blocks) {
  const auto holds = [this](const Condition& condition) {
    return condition.kind == Condition::Kind::host
               ? ssh_pattern_list_matches(condition.words, subject_)
               : match_holds(condition);
  };
  for (const SshConfig::Block& block : blocks)
    if (std::ranges::all_of(block.conditions, holds))
      for (const Directive& directive : block.directives) take(directive);
}

bool ChosenDirectives::match_holds(const Condition& condition) {
  bool holds = true;
  for (std::size_t i = 0; i < condition.words.size(); ++i) {
    std::string criterion = to_lower(condition.words[i]);
    const bool negated = criterion.starts_with('!');
    if (negated) criterion.erase(0, 1);
    std::optional<bool> fits = true;
    if (criterion == "final" || criterion == "canonical") {
      fits = final_pass_;
      final_wanted_ = final_wanted_ || criterion == "final";
    } else if (criterion != "all") {
      if (++i == condition.words.size())
        config_error(condition.place, "Match " + criterion + " without a value");
      if (!holds && criterion == "exec") continue;  // run only if all criteria before it hold
      fits = criterion_holds(condition, criterion, condition.words[i]);
    }
    if (!fits) {
      notes_.insert(fmt::format("{}:{}: Match {} is not supported; its block is left out",
                                condition.place.file, condition.place.line,
                                printable_text(criterion, 40)));
      return false;
    }
    if (*fits == negated) holds = false;
  }
  return holds;
}

std::optional<bool> ChosenDirectives::criterion_holds(const Condition& condition,
                                                      const std::string& criterion,
                                                      const std::string& value) const {
  const auto list_matches = [&](const std::string& subject) {
    return ssh_pattern_list_matches(split_patterns(value), subject);
  };
  if (criterion == "host") return list_matches(host_name());
  if (criterion == "originalhost") return list_matches(host_.name);
  if (criterion == "user") return list_matches(user());
  if (criterion == "localuser") return list_matches(local_.name);
  if (criterion != "exec" || !local_.run) return std::nullopt;
  const std::string port = host_.port == 0 ? "22" : std::to_string(host_.port);
  return local_.run(expand_ssh_command(value, condition.place, tokens(host_name(), port)));
}

SshTokens ChosenDirectives::tokens(const std::string& key_name, const std::string& port) const {
  return {{'d', local_.home},
          {'h', host_name()},
          {'i', std::to_string(local_.uid)},
          {'k', key_name},
          {'L', local_.host_name.substr(0, local_.host_name.find('.'))},
          {'l', local_.host_name},
          {'n', host_.name},
          {'p', port},
          {'r', user()},
          {'u', local_.name}};
}

void ChosenDirectives::take(const Directive& directive) {
  if (directive.keyword != "identityfile" && directive.keyword != "certificatefile") {
    first_.try_emplace(std::string(slot_of(directive.keyword)), &directive);
    return;
  }
  need_value(directive);
  auto& list = lists_[directive.keyword];
  if (std::ranges::find(list, &directive) == list.end()) list.push_back(&directive);
}

const SshConfig::Directive* ChosenDirectives::find(std::string_view keyword) const {
  const auto found = first_.find(slot_of(keyword));
  if (found == first_.end() || found->second->keyword != keyword) return nullptr;
  need_value(*found->second);
  return found->second;
}

const std::vector<const SshConfig::Directive*>& ChosenDirectives::all(
    std::string_view keyword) const {
  static const std::vector<const Directive*> none;
  const auto found = lists_.find(keyword);
  return found == lists_.end() ? none : found->second;
}

std::string ChosenDirectives::user() const {
  if (!host_.user.empty()) return host_.user;
  const Directive* directive = find("user");
  return directive != nullptr ? directive->values.front() : local_.name;
}

std::string ChosenDirectives::host_name() const {
  const Directive* directive = find("hostname");
  if (directive == nullptr) return host_.name;
  if (is_plain_text(directive->values.front())) return directive->values.front();
  return expand_ssh_text(directive->values.front(), directive->place,
                         {{'h', host_.name}, {'n', host_.name}}, local_);
}

std::vector<std::string> ignored_directives(const ChosenDirectives& chosen) {
  std::vector<std::string> notes;
  for (const Ignored& ignored : kIgnored)
    if (const auto* directive = chosen.find(ignored.keyword);
        directive != nullptr && to_lower(directive->values.front()) != ignored.harmless)
      notes.push_back(fmt::format("{}:{}: {} is ignored: {}", directive->place.file,
                                  directive->place.line, directive->keyword, ignored.why));
  return notes;
}

}  // namespace ds::launcher
