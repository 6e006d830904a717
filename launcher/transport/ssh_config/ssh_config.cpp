// Turns the directives that hold for one host into its settings.
#include "launcher/transport/ssh_config/ssh_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "launcher/transport/ssh_config/ssh_config_parts.h"

namespace ds::launcher {

namespace {

using Directive = SshConfig::Directive;

class SettingsReader {
 public:
  SettingsReader(const std::vector<SshConfig::Block>& blocks, const Host& host,
                 const LocalUser& local)
      : host_(host), local_(local), chosen_(blocks, host, local) {}

  SshSettings read() {
    s_.alias = host_.name;
    s_.host_name = chosen_.host_name();
    s_.address = host_.address.empty() ? s_.host_name : host_.address;
    s_.found_by = host_.found_by;
    s_.port = host_.port != 0 ? host_.port : number("port", 22, 1, 65535);
    s_.user = chosen_.user();
    s_.host_key_alias = text("hostkeyalias");
    read_host_keys();
    read_keys();
    read_connection();
    read_proxy();
    s_.algorithms = {text("kexalgorithms"), text("ciphers"), text("macs"),
                     text("hostkeyalgorithms"), accepted_public_keys()};
    s_.notes.assign(chosen_.notes().begin(), chosen_.notes().end());
    for (std::string& note : ignored_directives(chosen_)) s_.notes.push_back(std::move(note));
    return std::move(s_);
  }

 private:
  [[nodiscard]] std::string text(std::string_view keyword) const {
    const Directive* directive = chosen_.find(keyword);
    return directive == nullptr ? std::string() : directive->values.front();
  }

  /// Returns the meaning of the keyword's value. `expected` lists the values for the error.
  template <class T>
  [[nodiscard]] T choice(std::string_view keyword, T otherwise,
                         std::initializer_list<std::pair<std::string_view, T>> meanings,
                         std::string_view expected) const {
    const Directive* directive = chosen_.find(to_lower(keyword));
    if (directive == nullptr) return otherwise;
    const std::string value = to_lower(directive->values.front());
    for (const auto& [word, meaning] : meanings)
      if (word == value) return meaning;
    config_error(directive->place, fmt::format("{} is '{}', not {}", keyword, value, expected));
  }

  [[nodiscard]] bool flag(std::string_view keyword, bool otherwise = false) const {
    return choice<bool>(keyword, otherwise,
                        {{"yes", true}, {"true", true}, {"no", false}, {"false", false}},
                        "yes or no");
  }

  [[nodiscard]] int number(std::string_view keyword, int otherwise, int least, int most) const {
    const Directive* directive = chosen_.find(keyword);
    if (directive == nullptr) return otherwise;
    const auto value = ssh_number(directive->values.front());
    if (!value || *value < least || *value > most)
      config_error(directive->place, fmt::format("{} '{}' is not a number from {} to {}", keyword,
                                                 directive->values.front(), least, most));
    return static_cast<int>(*value);
  }

  /// Returns nothing for "none" and 0.
  [[nodiscard]] std::optional<std::chrono::seconds> time(std::string_view keyword) const {
    const Directive* directive = chosen_.find(keyword);
    if (directive == nullptr || to_lower(directive->values.front()) == "none") return std::nullopt;
    const auto seconds = ssh_seconds(directive->values.front());
    if (!seconds)
      config_error(directive->place, fmt::format("{} '{}' is not a time such as 30 or 1m30s",
                                                 keyword, directive->values.front()));
    return *seconds == 0 ? std::nullopt : std::optional(std::chrono::seconds(*seconds));
  }

  /// Returns a path with ~ and tokens replaced.
  [[nodiscard]] std::string expand_path(std::string path, const Directive& directive) const {
    if (path == "~" || path.starts_with("~/")) path = local_.home + path.substr(1);
    if (is_plain_text(path)) return path;
    return expand_ssh_text(path, directive.place, tokens(), local_);
  }

  [[nodiscard]] SshTokens tokens() const {
    return chosen_.tokens(s_.host_key_alias.empty() ? s_.host_name : s_.host_key_alias,
                          std::to_string(s_.port));
  }

  [[nodiscard]] std::vector<std::string> paths(std::string_view keyword,
                                               const std::vector<std::string>& fallback) const {
    const Directive* directive = chosen_.find(keyword);
    if (directive == nullptr) return fallback;
    std::vector<std::string> out;
    for (const std::string& value : directive->values)
      if (to_lower(value) != "none") out.push_back(expand_path(value, *directive));
    return out;
  }

  /// Returns the files of all lines of the keyword, each once.
  [[nodiscard]] std::vector<std::string> path_lines(std::string_view keyword) const {
    std::vector<std::string> out;
    for (const Directive* directive : chosen_.all(keyword)) {
      if (to_lower(directive->values.front()) == "none") continue;
      const std::string path = expand_path(directive->values.front(), *directive);
      if (std::ranges::find(out, path) == out.end()) out.push_back(path);
    }
    return out;
  }

  void read_host_keys() {
    s_.hash_known_hosts = flag("hashknownhosts");
    using enum HostKeyChecking;
    // `ask` means yes: many hosts are dialed at once, and none has a terminal of its own.
    s_.host_key_checking = choice("StrictHostKeyChecking", strict,
                                  {{"yes", strict},
                                   {"true", strict},
                                   {"ask", strict},
                                   {"accept-new", accept_new},
                                   {"no", accept_any},
                                   {"off", accept_any},
                                   {"false", accept_any}},
                                  "yes, accept-new, ask or no");
    s_.known_hosts_files = paths("userknownhostsfile", {local_.home + "/.ssh/known_hosts",
                                                        local_.home + "/.ssh/known_hosts2"});
    s_.global_known_hosts_files =
        paths("globalknownhostsfile", {"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"});
    s_.revoked_host_keys = paths("revokedhostkeys", {});
  }

  void read_keys() {
    s_.identities_only = flag("identitiesonly");
    s_.public_keys = flag("pubkeyauthentication", true);
    s_.batch_mode = flag("batchmode");
    s_.identities_configured = !chosen_.all("identityfile").empty();
    s_.identity_files = path_lines("identityfile");
    if (!s_.identities_configured)
      for (const char* name : {"id_ed25519", "id_ecdsa", "id_rsa"})
        s_.identity_files.push_back(local_.home + "/.ssh/" + name);
    s_.certificate_files = path_lines("certificatefile");
    s_.identity_agent = identity_agent();
  }

  [[nodiscard]] std::string identity_agent() const {
    const Directive* directive = chosen_.find("identityagent");
    std::string value = directive == nullptr ? "SSH_AUTH_SOCK" : directive->values.front();
    if (value == "none") return {};
    if (value == "SSH_AUTH_SOCK") value = "$SSH_AUTH_SOCK";
    if (value.starts_with('$') && !value.starts_with("${"))
      return local_.environment ? local_.environment(value.substr(1)).value_or("") : "";
    return expand_path(value, *directive);
  }

  /// Reads the older keyword as well: OpenSSH renamed it in 8.5.
  [[nodiscard]] std::string accepted_public_keys() const {
    const std::string now = text("pubkeyacceptedalgorithms");
    return now.empty() ? text("pubkeyacceptedkeytypes") : now;
  }

  void read_connection() {
    s_.connect_timeout = time("connecttimeout");
    s_.connection_attempts = number("connectionattempts", 1, 1, 1000);
    s_.bind_address = text("bindaddress");
    s_.bind_interface = text("bindinterface");
    s_.tcp_keep_alive = flag("tcpkeepalive", true);
    s_.server_alive_interval = time("serveraliveinterval").value_or(std::chrono::seconds(0));
    s_.server_alive_count_max = number("serveralivecountmax", 3, 0, 1'000'000);
    using enum AddressFamily;
    s_.address_family =
        choice("AddressFamily", any, {{"any", any}, {"inet", inet}, {"inet6", inet6}},
               "any, inet or inet6");
  }

  void read_proxy() {
    const Directive* const jump = chosen_.find("proxyjump");
    if (jump != nullptr && to_lower(jump->values.front()) != "none")
      s_.jumps = parse_jump_hosts(
          expand_ssh_text(jump->values.front(), jump->place, tokens(), local_), jump->place);
    const Directive* const command = chosen_.find("proxycommand");
    if (command != nullptr && to_lower(command->values.front()) != "none")
      s_.proxy_command = expand_ssh_command(command->values.front(), command->place, tokens());
  }

  const Host& host_;
  const LocalUser& local_;
  ChosenDirectives chosen_;
  SshSettings s_;
};

}  // namespace

bool SshConfig::runs_commands() const {
  return std::ranges::any_of(blocks_, [](const Block& block) {
    return std::ranges::any_of(block.conditions, [](const Condition& condition) {
      return condition.kind == Condition::Kind::match &&
             std::ranges::any_of(condition.words, [](const std::string& word) {
               return to_lower(word).ends_with("exec");
             });
    });
  });
}

SshSettings SshConfig::resolve(const Host& host, const LocalUser& local) const {
  return SettingsReader(blocks_, host, local).read();
}

}  // namespace ds::launcher
