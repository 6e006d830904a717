// Shared state of an ssh transport; each part is created when a host first needs it.
#include "launcher/transport/ssh/ssh_exchange.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "launcher/transport/ssh/ssh_files.h"

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

SshLogin SshExchange::login(const SshSettings& settings, Reached& reached) {
  SshIdentityPlan plan = plan_identities(settings);
  for (const std::string& note : settings.notes) warn(note);
  SshLogin login;
  login.socket = std::move(reached.socket);
  login.settings = &settings;
  login.host_key_algorithms = offered_host_keys(settings, reached.certificate);
  login.identities = std::move(plan.identities);
  login.identities_note = std::move(plan.note);
  login.limits = options.limits;
  return login;
}

SshEvents SshExchange::login_events(const SshSettings& settings, const Reached& reached) {
  SshEvents events;
  events.check_host_key = [this, &settings, certificate = reached.certificate](const HostKey& key) {
    return check_host_key(settings, key, certificate);
  };
  events.on_identity = [this](const std::string& label) { last_good_identity_ = label; };
  return events;
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

void SshExchange::prepare(std::span<const Host> hosts) {
  if (!options.ask && !config_.runs_commands()) return;
  for (const Host& host : hosts) {
    try {
      const SshRoute hops = route(host);
      for (const SshSettings& jump : hops.jumps) unlock_keys_of(jump);
      unlock_keys_of(hops.target);
    } catch (const Error&) {
      continue;  // the reason is shown when the host is dialed
    }
  }
}

std::string SshExchange::user_of(const Host& host) const {
  try {
    return route(host).target.user;
  } catch (const Error&) {
    return {};  // the reason is shown when the host is dialed
  }
}

AgentRelay* SshExchange::agent(const std::string& socket_path) {
  if (socket_path.empty()) return nullptr;
  auto& relay = agents_[socket_path];
  if (!relay) relay = std::make_unique<AgentRelay>(socket_path, options.agent_limit);
  return relay.get();
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
