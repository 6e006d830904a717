// Host keys for an ssh transport: reads known_hosts, checks a shown key, remembers a new one.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "launcher/transport/host_keys/host_certificate.h"
#include "launcher/transport/host_keys/host_key_policy.h"
#include "launcher/transport/ssh/key_file.h"
#include "launcher/transport/ssh/ssh_exchange.h"
#include "launcher/transport/ssh/ssh_files.h"

namespace ds::launcher {

namespace {

std::optional<HostCertificate> parsed_certificate(const std::optional<HostKey>& shown) {
  return shown ? parse_host_certificate(*shown) : std::nullopt;
}

}  // namespace

SshExchange::KnownFiles& SshExchange::known_files(const SshSettings& settings) {
  const auto& own = settings.known_hosts_files;
  const auto& global = settings.global_known_hosts_files;
  const auto& revoked = settings.revoked_host_keys;
  const std::string names = fmt::format("{}\n{}\n{}", fmt::join(own, "\n"), fmt::join(global, "\n"),
                                        fmt::join(revoked, "\n"));
  const auto [it, fresh] = known_files_.try_emplace(names);
  KnownFiles& files = it->second;
  if (!fresh) return files;
  for (const auto* list : {&own, &global}) {
    for (const std::string& path : *list) {
      const auto text = read_text_file(path);
      if (!text && errno != ENOENT)
        files.problem = fmt::format("cannot read known_hosts {}: {}", path, std::strerror(errno));
      if (!text) continue;
      files.index.add(*text, path);
      if (list == &own && path == own.front()) files.own_size = text->size();
    }
  }
  for (const std::string& path : revoked) files.index.add_revoked(read_text_file(path), path);
  return files;
}

std::string SshExchange::certificates_to_ask_for(const SshSettings& settings) {
  const KnownHosts& known = known_files(settings).index;
  if (known.authorities(host_key_name(settings), host_key_port(settings)).empty()) return {};
  return certificate_algorithms(settings.algorithms.host_keys);
}

/// Cached, because most hosts are known by keys of the same types.
const std::string& SshExchange::offered_host_keys(const SshSettings& settings,
                                                  const std::optional<HostKey>& certificate) {
  std::vector<std::string> types =
      known_files(settings).index.types(host_key_name(settings), host_key_port(settings));
  if (types.empty())
    for (const std::string& key : shared_keys(settings)) types.push_back(key_type_of(key));
  const auto parsed = parsed_certificate(certificate);
  const std::string certified = parsed ? parsed->key.type : "";
  const std::string& wanted = settings.algorithms.host_keys;
  const auto [it, fresh] = offered_host_keys_.try_emplace(
      fmt::format("{} {} {}", certified, fmt::join(types, ","), wanted));
  if (fresh) it->second = host_key_algorithms(types, wanted, certified);
  return it->second;
}

std::optional<std::string> SshExchange::check_host_key(const SshSettings& settings,
                                                       const HostKey& key,
                                                       const std::optional<HostKey>& shown) {
  KnownFiles& files = known_files(settings);
  const std::string& name = host_key_name(settings);
  const auto certificate = parsed_certificate(shown);
  HostKeyVerdict verdict;
  if (certificate && certificate->key == key) {
    verdict = files.index.check_certificate(name, host_key_port(settings), *certificate,
                                            static_cast<std::uint64_t>(std::time(nullptr)));
  } else if (!takes_plain_key(settings.algorithms.host_keys, key.type)) {
    return fmt::format("it shows a plain {} key, which HostKeyAlgorithms leaves out", key.type);
  } else {
    verdict = files.index.check(name, host_key_port(settings), key);
    if (const auto places = files.index.authorities(name, host_key_port(settings)); !places.empty())
      verdict.certificate_problem = certificate ? "its certificate is for another key of the host"
                                                : no_certificate_text(places);
  }
  if (verdict.kind == HostKeyVerdict::Kind::unknown) {
    const std::vector<std::string> shared = shared_keys(settings);
    if (std::ranges::find(shared, key.base64) != shared.end()) return std::nullopt;
  }
  const HostKeyDecision decision = judge_host_key(settings, key, verdict);
  // The key may stand in the file that cannot be read.
  if (!decision.accept && verdict.kind == HostKeyVerdict::Kind::unknown && !files.problem.empty())
    return files.problem;
  if (!decision.accept) return decision.text + unused_keys_text(settings, verdict);
  if (decision.remember) {
    if (auto refusal = remember(settings, key, files)) return refusal;
  }
  if (!decision.warning.one.empty()) warn_about(settings.alias, decision.warning);
  return std::nullopt;
}

/// Names the keys that could not be read: one of them may be the key that the pods of a job share.
std::string SshExchange::unused_keys_text(const SshSettings& settings,
                                          const HostKeyVerdict& verdict) {
  std::string text;
  if (verdict.kind != HostKeyVerdict::Kind::unknown) return text;
  for (const std::string& path : settings.identity_files)
    if (const auto& key = keyring.load(path); key.state == SshKeyring::State::unusable)
      text += fmt::format("; {} is not used: {}", path, key.problem);
  return text;
}

std::vector<std::string> SshExchange::shared_keys(const SshSettings& settings) {
  std::vector<std::string> keys;
  for (const std::string& path : settings.identity_files) {
    const SshKeyring::Status& status = keyring.load(path);
    if (status.state != SshKeyring::State::ready) continue;
    const auto beside = std::filesystem::path(path).replace_filename("authorized_keys");
    const auto [it, fresh] = authorized_.try_emplace(beside.string());
    if (fresh) it->second = read_text_file(it->first).value_or("");
    if (authorizes(it->second, status.public_base64)) keys.push_back(status.public_base64);
  }
  return keys;
}

/// Appends a new key to known_hosts. If another program has added lines since we read the file,
/// those are read first and the key is checked again.
std::optional<std::string> SshExchange::remember(const SshSettings& settings, const HostKey& key,
                                                 KnownFiles& files) {
  if (settings.known_hosts_files.empty())
    return "its new host key cannot be saved: UserKnownHostsFile is none";
  const std::string& path = settings.known_hosts_files.front();
  const std::string& name = host_key_name(settings);
  const int port = host_key_port(settings);
  const std::string line =
      known_hosts_line(name, port, key, settings.hash_known_hosts ? random_salt() : "");
  for (int tries = 0; tries < 3; ++tries) {
    const AppendedKey done = append_host_key(path, line, files.own_size);
    if (!done.problem.empty()) {  // ~/.ssh of a pod may be a read-only Secret
      files.index.add(line, path);
      warn("new host keys are accepted for this run only, because known_hosts cannot be written: " +
           done.problem);
      return std::nullopt;
    }
    files.index.add(done.read, path);
    files.own_size += done.read.size();
    if (done.written) return std::nullopt;
    const HostKeyDecision again = judge_host_key(settings, key, files.index.check(name, port, key));
    if (!again.accept) return again.text;
    if (!again.remember) return std::nullopt;
  }
  return "its new host key cannot be saved: other programs keep changing " + path;
}

}  // namespace ds::launcher
