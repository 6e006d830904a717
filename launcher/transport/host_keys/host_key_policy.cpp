// Rules and messages for known, unknown and changed host keys.
#include "launcher/transport/host_keys/host_key_policy.h"

#include <fmt/format.h>

#include "engine/base/error.h"

namespace ds::launcher {

namespace {

std::string places_text(const std::vector<TextPlace>& places) {
  std::string text;
  for (const TextPlace& place : places)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ", ", place.file, place.line);
  return text;
}

/// ssh-keyscan prints lines that can be appended as they are; ssh asks a person, which is safer.
std::string how_to_add(const SshSettings& s) {
  const std::string port = s.port == 22 ? "" : fmt::format(" -p {}", s.port);
  const std::string file =
      s.known_hosts_files.empty() ? "~/.ssh/known_hosts" : s.known_hosts_files.front();
  return fmt::format("check the fingerprint, then `ssh{} {}` once, or `ssh-keyscan{} {} >> {}`",
                     port, s.alias, port, s.host_name, file);
}

}  // namespace

const std::string& host_key_name(const SshSettings& settings) {
  return settings.host_key_alias.empty() ? settings.host_name : settings.host_key_alias;
}

int host_key_port(const SshSettings& settings) {
  return settings.host_key_alias.empty() ? settings.port : 22;
}

std::string no_certificate_text(const std::vector<TextPlace>& places) {
  return places_text(places) + " names an authority for it, but it shows no certificate";
}

HostKeyDecision judge_host_key(const SshSettings& s, const HostKey& key,
                               const HostKeyVerdict& verdict) {
  if (verdict.kind == HostKeyVerdict::Kind::match) return {true, false, ""};
  const std::string shown = fmt::format("{} {}", key.type, fingerprint(key));
  const std::string note =
      verdict.certificate_problem.empty() ? "" : "; " + verdict.certificate_problem;
  switch (verdict.kind) {
    case HostKeyVerdict::Kind::revoked:
      return {false, false,
              fmt::format("host key {} is revoked ({})", shown, places_text(verdict.places))};
    case HostKeyVerdict::Kind::changed:
      return {false, false,
              fmt::format("HOST KEY CHANGED: it shows {}, but {} holds another; somebody may be "
                          "intercepting the connection, or the host was reinstalled; contact "
                          "its administrator, then remove the old key with "
                          "`ssh-keygen -R '{}'`",
                          shown, places_text(verdict.places),
                          known_hosts_name(host_key_name(s), host_key_port(s)))};
    case HostKeyVerdict::Kind::other_type:
      // accept-new means new hosts: a known host that suddenly shows another kind of key is not
      // one.
      return {false, false,
              fmt::format("host key {} is unknown, though keys of other types are known for this "
                          "host ({}){}; {}",
                          shown, places_text(verdict.places), note, how_to_add(s))};
    case HostKeyVerdict::Kind::match:
    case HostKeyVerdict::Kind::unknown:
      break;
  }
  switch (s.host_key_checking) {
    case HostKeyChecking::strict:
      return {false, false,
              fmt::format("host key {} is unknown{}; {}", shown, note, how_to_add(s))};
    case HostKeyChecking::accept_new:
      return {
          true,
          true,
          "",
          {fmt::format("new host key {} added to known_hosts (StrictHostKeyChecking accept-new)",
                       shown),
           "new host keys added to known_hosts (StrictHostKeyChecking accept-new)"}};
    case HostKeyChecking::accept_any:
      return {
          true,
          false,
          "",
          {fmt::format("unknown host key {} accepted without a check (StrictHostKeyChecking no)",
                       shown),
           "unknown host keys accepted without a check (StrictHostKeyChecking no)"}};
  }
  DS_ASSERT(false, "all kinds of checking are handled");
}

}  // namespace ds::launcher
