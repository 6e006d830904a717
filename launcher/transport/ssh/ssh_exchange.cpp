// Shared state of an ssh transport; each part is created when a host first needs it.
#include "launcher/transport/ssh/ssh_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <asio/post.hpp>
#include <ctime>
#include <filesystem>

#include "engine/base/error.h"
#include "launcher/transport/host_keys/host_certificate.h"
#include "launcher/transport/host_keys/host_key_policy.h"
#include "launcher/transport/ssh/key_file.h"
#include "launcher/transport/ssh/ssh_files.h"
#include "launcher/transport/ssh/ssh_identities.h"
#include "launcher/transport/ssh/ssh_jump_host.h"
#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

namespace {

// 12 MB each: enough to fill a network link, few enough that each makes progress.
constexpr int kCopiesAtOnce = 16;
constexpr std::chrono::milliseconds kWarningsWait{500};

}  // namespace

SshExchange::SshExchange(asio::io_context& context, SshOptions given)
    : io(context),
      options(std::move(given)),
      resolver(context, options.resolver_threads),
      keyring(make_ssh_keyring()),
      logins(std::make_shared<Turns>(context, options.window)),
      copies(std::make_shared<Turns>(context, kCopiesAtOnce)),
      local_(local_user()),
      config_(read_ssh_config(options.config_file, local_)),
      warning_timer_(context) {}

SshExchange::~SshExchange() { print_warnings(); }

SshRoute SshExchange::route(const Host& host) const {
  SshRoute route = plan_route(config_, host, local_);
  if (options.known_hosts_files.empty()) return route;
  const auto use_given_files = [this](SshSettings& settings) {
    settings.known_hosts_files = options.known_hosts_files;
    settings.global_known_hosts_files.clear();
  };
  use_given_files(route.target);
  for (SshSettings& jump : route.jumps) use_given_files(jump);
  return route;
}

std::string SshExchange::certificates_to_ask_for(const SshSettings& settings) {
  const KnownHosts& known = known_files(settings).index;
  if (known.authorities(host_key_name(settings), host_key_port(settings)).empty()) return {};
  return certificate_algorithms(settings.algorithms.host_keys);
}

SshLogin SshExchange::login(const SshSettings& settings, Reached& reached) {
  SshIdentityPlan plan;
  if (settings.public_keys)
    plan = plan_identities(settings, *keyring, agent(settings.identity_agent), last_good_identity_,
                           static_cast<bool>(options.ask));
  else
    plan.note = "PubkeyAuthentication is no";
  const KnownHosts& known = known_files(settings).index;
  for (const std::string& note : settings.notes) warn(note);
  SshLogin login;
  login.socket = std::move(reached.socket);
  login.user = settings.user;
  login.port = settings.port;
  const std::string& name = host_key_name(settings);
  std::vector<std::string> types = known.types(name, host_key_port(settings));
  if (types.empty())
    for (const std::string& key : shared_keys(settings)) types.push_back(key_type_of(key));
  const auto certificate = reached.certificate ? parse_host_certificate(*reached.certificate)
                                               : std::optional<HostCertificate>();
  login.host_key_algorithms = offered_host_keys(types, settings.algorithms.host_keys,
                                                certificate ? certificate->key.type : "");
  login.algorithms = settings.algorithms;
  login.identities = std::move(plan.identities);
  login.identities_note = std::move(plan.note);
  login.limits = options.limits;
  login.alive_interval = settings.server_alive_interval;
  login.alive_count_max = settings.server_alive_count_max;
  return login;
}

/// Cached, because most hosts are known by keys of the same types.
const std::string& SshExchange::offered_host_keys(const std::vector<std::string>& types,
                                                  const std::string& wanted,
                                                  std::string_view certified) {
  std::string question(certified);
  for (const std::string& type : types) question += ',' + type;
  const auto [it, fresh] = offered_host_keys_.try_emplace(question + ' ' + wanted);
  if (fresh) it->second = host_key_algorithms(types, wanted, certified);
  return it->second;
}

SshLoginEvents SshExchange::login_events(const SshSettings& settings, const Reached& reached) {
  SshLoginEvents events;
  events.check_host_key = [this, &settings, certificate = reached.certificate](const HostKey& key) {
    return check_host_key(settings, key, certificate);
  };
  events.on_identity = [this](const std::string& label) { last_good_identity_ = label; };
  return events;
}

JumpHost& SshExchange::jump_host(std::span<const SshSettings> jumps) {
  auto& host = jump_hosts_[route_key(jumps)];
  if (!host) host = std::make_unique<JumpHost>(*this, jumps);
  return *host;
}

void SshExchange::warn(const std::string& text) {
  if (options.warn && warned_.insert(text).second) options.warn(text);
}

const std::optional<AgentCopy>& SshExchange::agent_copy() {
  if (!std::exchange(asked_for_copy_, true) && options.copy) agent_copy_ = options.copy();
  return agent_copy_;
}

void SshExchange::warn_about(const std::string& host, HostWarning warning) {
  if (!options.warn) return;
  const bool first = warnings_.empty();
  warnings_.add(host, std::move(warning));
  if (!first || warnings_.empty()) return;
  warning_timer_.expires_after(kWarningsWait);
  warning_timer_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
    const auto self = weak.lock();
    if (!error && self) self->print_warnings();
  });
}

void SshExchange::print_warnings() {
  warning_timer_.cancel();
  for (const std::string& line : warnings_.take()) options.warn(line);
}

std::string SshExchange::user_of(const Host& host) const {
  try {
    return route(host).target.user;
  } catch (const Error&) {
    return {};  // the reason is shown when the host is dialed
  }
}

SshExchange::KnownFiles& SshExchange::known_files(const SshSettings& settings) {
  std::string names;
  for (const auto* list : {&settings.known_hosts_files, &settings.global_known_hosts_files})
    for (const std::string& path : *list) names += path + '\n';
  for (const std::string& path : settings.revoked_host_keys) names += path + '\n';
  const auto [it, fresh] = known_files_.try_emplace(names);
  KnownFiles& files = it->second;
  if (!fresh) return files;
  for (const auto* list : {&settings.known_hosts_files, &settings.global_known_hosts_files}) {
    for (const std::string& path : *list) {
      const auto text = read_text_file(path);
      if (!text) continue;
      files.index.add(*text, path);
      const bool written = list == &settings.known_hosts_files && path == list->front();
      if (written) files.own_size = text->size();
    }
  }
  for (const std::string& path : settings.revoked_host_keys)
    files.index.add_revoked(read_text_file(path), path);
  return files;
}

AgentRelay* SshExchange::agent(const std::string& socket_path) {
  if (socket_path.empty()) return nullptr;
  auto& relay = agents_[socket_path];
  if (!relay) relay = std::make_unique<AgentRelay>(socket_path, options.agent_limit);
  return relay.get();
}

std::optional<std::string> SshExchange::check_host_key(const SshSettings& settings,
                                                       const HostKey& key,
                                                       const std::optional<HostKey>& shown) {
  KnownFiles& files = known_files(settings);
  const std::string& name = host_key_name(settings);
  const auto certificate =
      shown ? parse_host_certificate(*shown) : std::optional<HostCertificate>();
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
  if (verdict.kind == HostKeyVerdict::Kind::unknown && is_shared_key(settings, key))
    return std::nullopt;
  const HostKeyDecision decision = judge_host_key(settings, key, verdict);
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
    if (const auto& key = keyring->load(path); key.state == SshKeyring::State::unusable)
      text += fmt::format("; {} is not used: {}", path, key.problem);
  return text;
}

bool SshExchange::is_shared_key(const SshSettings& settings, const HostKey& shown) {
  const std::vector<std::string> keys = shared_keys(settings);
  return std::ranges::find(keys, shown.base64) != keys.end();
}

std::vector<std::string> SshExchange::shared_keys(const SshSettings& settings) {
  std::vector<std::string> keys;
  for (const std::string& path : settings.identity_files) {
    const SshKeyring::Status& status = keyring->load(path);
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
  NewHostKey line{name, host_key_port(settings), key, settings.hash_known_hosts};
  for (int tries = 0; tries < 3; ++tries) {
    const AppendedKey done = append_host_key(path, line, files.own_size);
    if (!done.problem
             .empty()) {  // accepted, as ssh does: ~/.ssh of a pod may be a read-only Secret
      files.index.add(known_hosts_line(name, line.port, key), path);
      warn("new host keys are accepted for this run only, because known_hosts cannot be written: " +
           done.problem);
      return std::nullopt;
    }
    files.index.add(done.read, path);
    files.own_size += done.read.size();
    if (done.written) return std::nullopt;
    const HostKeyDecision again =
        judge_host_key(settings, key, files.index.check(name, host_key_port(settings), key));
    if (!again.accept) return again.text;
    if (!again.remember) return std::nullopt;
  }
  return "its new host key cannot be saved: other programs keep changing " + path;
}

std::chrono::milliseconds SshExchange::connect_limit(const SshSettings& settings) const {
  return settings.connect_timeout ? std::chrono::milliseconds(*settings.connect_timeout)
                                  : options.connect_limit;
}

std::chrono::milliseconds SshExchange::jitter(int attempt) {
  const int base = 100 << std::min(attempt, 5);
  return std::chrono::milliseconds(
      std::uniform_int_distribution<int>(base / 2, base * 3 / 2)(random_));
}

}  // namespace ds::launcher
