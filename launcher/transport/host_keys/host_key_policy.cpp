#include "launcher/transport/host_keys/host_key_policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/transport/host_keys/host_certificate.h"

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
  if (file == "/dev/null")
    return "known_hosts is /dev/null, which keeps no keys; name a file with --known-hosts or "
           "UserKnownHostsFile";
  return fmt::format("check the fingerprint, then `ssh{} {}` once, or `ssh-keyscan{} {} >> {}`",
                     port, s.alias, port, s.host_name, file);
}

/// An RSA key can sign in two ways; the old way, ssh-rsa (SHA-1), is offered only on request.
const std::vector<std::string> kPlainAlgorithms = {"ssh-ed25519",         "ecdsa-sha2-nistp256",
                                                   "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
                                                   "rsa-sha2-512",        "rsa-sha2-256"};

std::string_view key_type(std::string_view algorithm) {
  return algorithm.starts_with("rsa-sha2-") ? "ssh-rsa" : algorithm;
}

/// The default as HostKeyAlgorithms changes it, either the certificates in it or the others.
std::vector<std::string> changed_algorithms(const std::string& wanted, bool certificates) {
  std::vector<std::string> both;
  for (const std::string& algorithm : kPlainAlgorithms)
    both.push_back(algorithm + "-cert-v01@openssh.com");
  both.insert(both.end(), kPlainAlgorithms.begin(), kPlainAlgorithms.end());
  std::vector<std::string> list =
      split_patterns(change_algorithms(fmt::format("{}", fmt::join(both, ",")), wanted));
  std::erase_if(list,
                [&](const std::string& name) { return is_certificate_type(name) != certificates; });
  return list;
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

std::string host_key_algorithms(const std::vector<std::string>& known_types,
                                const std::string& wanted, std::string_view certified) {
  std::vector<std::string> list;
  for (const std::string& algorithm : kPlainAlgorithms)
    if (key_type(algorithm) == certified) list.push_back(algorithm);
  const std::vector<std::string> all = changed_algorithms(wanted, false);
  for (const bool known : {true, false})  // in the order of `all`: the cheapest known type first
    for (const std::string& algorithm : all)
      if ((std::ranges::find(known_types, key_type(algorithm)) != known_types.end()) == known &&
          std::ranges::find(list, algorithm) == list.end())
        list.push_back(algorithm);
  return fmt::format("{}", fmt::join(list, ","));
}

std::string certificate_algorithms(const std::string& wanted) {
  return fmt::format("{}", fmt::join(changed_algorithms(wanted, true), ","));
}

bool takes_plain_key(const std::string& wanted, const std::string& type) {
  return std::ranges::any_of(changed_algorithms(wanted, false), [&](const std::string& algorithm) {
    return key_type(algorithm) == type;
  });
}

HostKeyDecision judge_host_key(const SshSettings& s, const HostKey& key,
                               const HostKeyVerdict& verdict) {
  using Kind = HostKeyVerdict::Kind;
  if (verdict.kind == Kind::match) return {.accept = true};
  const std::string shown = fmt::format("{} {}", key.type, fingerprint(key));
  const std::string places = places_text(verdict.places);
  const std::string note =
      verdict.certificate_problem.empty() ? "" : "; " + verdict.certificate_problem;
  const auto refuse = [](std::string text) { return HostKeyDecision{.text = std::move(text)}; };
  if (verdict.kind == Kind::revoked)
    return refuse(fmt::format("host key {} is revoked ({})", shown, places));
  if (verdict.kind == Kind::changed)
    return refuse(fmt::format(
        "HOST KEY CHANGED: it shows {}, but {} holds another; somebody may be intercepting the "
        "connection, or the host was reinstalled; contact its administrator, then remove the old "
        "key with `ssh-keygen -f '{}' -R '{}'`",
        shown, places, verdict.places.empty() ? "FILE" : verdict.places.front().file,
        known_hosts_name(host_key_name(s), host_key_port(s))));
  // accept-new means new hosts: a known host that suddenly shows another kind of key is not one.
  if (verdict.kind == Kind::other_type)
    return refuse(
        fmt::format("host key {} is unknown, though keys of other types are known for "
                    "this host ({}){}; {}",
                    shown, places, note, how_to_add(s)));
  if (s.host_key_checking == HostKeyChecking::strict)
    return refuse(fmt::format("host key {} is unknown{}; {}", shown, note, how_to_add(s)));
  if (s.host_key_checking == HostKeyChecking::accept_new)
    return {true,
            true,
            "",
            {fmt::format("new host key {} added to known_hosts (StrictHostKeyChecking accept-new)",
                         shown),
             "new host keys added to known_hosts (StrictHostKeyChecking accept-new)"}};
  return {true,
          false,
          "",
          {fmt::format("unknown host key {} accepted without a check (StrictHostKeyChecking no)",
                       shown),
           "unknown host keys accepted without a check (StrictHostKeyChecking no)"}};
}

}  // namespace ds::launcher
