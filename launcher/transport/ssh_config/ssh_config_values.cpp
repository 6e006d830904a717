// Parses ProxyJump, and lists the directives that dslaunch does not support.
#include <fmt/format.h>

#include <algorithm>

#include "launcher/transport/ssh_config/ssh_config_choose.h"
#include "launcher/transport/ssh_config/ssh_config_parse.h"

namespace ds::launcher {

namespace {

Host parse_jump_host(std::string_view text, const TextPlace& place) {
  const std::string shown(text);
  const auto bad = [&](const char* why) {
    config_error(place, fmt::format("ProxyJump '{}': {}", shown, why),
                 "[user@]host[:port], several separated by commas");
  };
  if (text.starts_with("ssh://")) text.remove_prefix(6);
  Host host;
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    host.user = text.substr(0, at);
    if (host.user.empty() || host.user.starts_with('-')) bad("not a user name");
    text.remove_prefix(at + 1);
  }
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) bad("']' is missing");
    host.name = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    const std::size_t colon = text.find(':');
    host.name = text.substr(0, colon);
    port = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  if (host.name.empty() || host.name.starts_with('-')) bad("not a host name");
  if (!port.empty()) {
    const auto number = port.front() == ':' ? ssh_number(port.substr(1)) : std::nullopt;
    if (!number || *number < 1 || *number > 65535) bad("the port is not a number from 1 to 65535");
    host.port = static_cast<int>(*number);
  }
  host.place = place;
  return host;
}

struct Ignored {
  std::string_view keyword;
  std::vector<std::string_view> harmless;  // values that change nothing for dslaunch
  std::string_view why;
};

const std::vector<Ignored>& ignored_list() {
  static const std::vector<Ignored> list = {
      {"casignaturealgorithms", {}, "certificates may be signed by ed25519, ecdsa and rsa-sha2"},
      {"canonicalizehostname", {"no"}, "names are taken as they are"},
      {"forwardagent", {"no"}, "no agent is forwarded to the nodes"},
      {"knownhostscommand", {"none"}, "only files are asked for host keys"},
      {"pkcs11provider", {"none"}, "keys on tokens are used through an agent only"},
      {"remotecommand", {"none"}, "nodes run dslaunch"},
      {"requiredrsasize", {}, "RSA keys of any size are taken"},
      {"verifyhostkeydns", {"no"}, "only known_hosts is asked for host keys"},
      {"proxyusefdpass", {"no"}, "ProxyCommand is a pipe"},
  };
  return list;
}

}  // namespace

std::vector<Host> parse_jump_hosts(std::string_view text, const TextPlace& place) {
  std::vector<Host> hosts;
  while (true) {
    const std::size_t comma = text.find(',');
    hosts.push_back(parse_jump_host(text.substr(0, comma), place));
    if (comma == std::string_view::npos) return hosts;
    text.remove_prefix(comma + 1);
  }
}

std::vector<std::string> ignored_directives(const ChosenDirectives& chosen) {
  std::vector<std::string> notes;
  for (const Ignored& ignored : ignored_list()) {
    const auto* directive = chosen.find(ignored.keyword);
    if (directive == nullptr) continue;
    const std::string value = ssh_lower(directive->values.front());
    if (std::ranges::find(ignored.harmless, value) != ignored.harmless.end()) continue;
    notes.push_back(fmt::format("{}:{}: {} is ignored: {}", directive->place.file,
                                directive->place.line, directive->keyword, ignored.why));
  }
  return notes;
}

}  // namespace ds::launcher
