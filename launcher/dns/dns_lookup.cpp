#include "launcher/dns/dns_lookup.h"

#include <algorithm>
#include <array>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <optional>

#include "engine/base/deadline.h"
#include "launcher/dns/dns_config.h"
#include "launcher/dns/dns_query.h"
#include "launcher/transport/resolver.h"

namespace ds::launcher {
namespace {

using namespace std::chrono_literals;

constexpr int kGetaddrinfoThreads = 4;
// Timeouts of c-ares, which sends each query twice: a single silent server is given up after 3 s,
// one of several after 1.5 s.
constexpr auto kTimeout = 1000ms;
constexpr auto kTimeoutOfSeveral = 500ms;
/// What the answer to the second query of a name gets once the first one decides: the loss of one
/// packet should not delay a lookup that has an address.
constexpr auto kSecondAnswer = 250ms;

}  // namespace

struct DnsLookup::Look {
  Look(asio::io_context& io, std::string what, std::function<void(DnsResult)> callback)
      : name(std::move(what)), done(std::move(callback)), timer(io) {}
  std::string name;
  std::function<void(DnsResult)> done;
  asio::steady_timer timer;
  Clock::time_point limit;
  Clock::time_point asked;
  DnsConfig config;
  std::optional<LookupState> state;
  std::array<DnsQuery, 2> queries;  // A, AAAA
  std::array<std::optional<DnsAnswer>, 2> answers;
  std::list<LookPtr>::iterator place;
};

DnsLookup::DnsLookup(asio::io_context& io, DnsOptions options)
    : io_(io), options_(std::move(options)) {}
DnsLookup::~DnsLookup() = default;

void DnsLookup::look_up(const std::string& name, std::function<void(DnsResult)> done) {
  auto look = std::make_shared<Look>(io_, name, std::move(done));
  look->place = looks_.insert(looks_.end(), look);
  look->limit = Clock::now() + options_.limit;
  if (auto known = known_addresses(name); !known.empty()) {
    asio::post(io_, [this, weak = std::weak_ptr(look), known = std::move(known)] {
      if (const LookPtr held = weak.lock()) finish(held, found_addresses(known));
    });
    return;
  }
  look->config = read_dns_config(options_.resolv_conf);
  if (look->config.servers.empty()) look->config.servers = {"127.0.0.1"};  // c-ares had no memory
  look->state.emplace(candidate_names(name, look->config), look->config.servers);
  ask(look);
}

void DnsLookup::finish(const LookPtr& look, DnsResult result) {
  const auto done = std::move(look->done);
  look->queries = {};
  look->timer.cancel();
  looks_.erase(look->place);
  done(std::move(result));  // may destroy this object
}

/// Asks for both types of the name whose turn it is.
void DnsLookup::ask(const LookPtr& look) {
  look->answers = {};
  look->asked = Clock::now();
  for (const std::size_t type : {0U, 1U}) {
    const bool several = look->config.servers.size() > 1;
    const DnsQuestion question{.name = look->state->name(),
                               .ipv6 = type == 1,
                               .server = look->state->server(),
                               .port = options_.port,
                               .tcp = look->config.tcp,
                               .timeout = several ? kTimeoutOfSeveral : kTimeout};
    look->queries[type] =
        send_dns_query(io_, question, [this, weak = std::weak_ptr(look), type](DnsAnswer answer) {
          if (const LookPtr held = weak.lock()) on_answer(held, type, std::move(answer));
        });
  }
  wait_until(look, look->limit);
}

void DnsLookup::on_answer(const LookPtr& look, std::size_t type, DnsAnswer answer) {
  const bool decides =
      answer.kind == DnsAnswer::Kind::addresses || answer.kind == DnsAnswer::Kind::no_name;
  look->answers[type] = std::move(answer);
  if (look->answers[1 - type]) return settle(look);
  if (decides) wait_until(look, std::min(look->limit, Clock::now() + kSecondAnswer));
}

void DnsLookup::wait_until(const LookPtr& look, Clock::time_point when) {
  look->timer.expires_at(when);
  look->timer.async_wait([this, weak = std::weak_ptr(look)](const asio::error_code& error) {
    const LookPtr held = error ? nullptr : weak.lock();
    // It may have been set anew after this call was queued.
    if (held && Clock::now() >= held->timer.expiry()) settle(held);
  });
}

/// Gives the answers to the state, whichever have come; ends a lookup that still waits for
/// getaddrinfo.
void DnsLookup::settle(const LookPtr& look) {
  if (look->state->end()) return finish(look, *look->state->end());
  const auto now = Clock::now();
  look->queries = {};
  const DnsAnswer none{DnsAnswer::Kind::silent, {}, within_text(now - look->asked), {}};
  look->state->on_answers(look->answers[0].value_or(none), look->answers[1].value_or(none),
                          now >= look->limit);
  if (!look->state->end()) return ask(look);
  DnsResult result = *look->state->end();
  if (!result.addresses.empty() || now >= look->limit ||
      !has_further_sources(text_of(options_.nsswitch)))
    return finish(look, std::move(result));
  ask_library(look);
}

/// Asks getaddrinfo. Without an address there the result of the name servers stays: it says more.
void DnsLookup::ask_library(const LookPtr& look) {
  if (!resolver_) resolver_ = std::make_unique<Resolver>(io_, kGetaddrinfoThreads);
  const std::weak_ptr weak(look);
  resolver_->resolve(look->name, 0, [this, weak](const Resolved& resolved) {
    const LookPtr held = weak.lock();
    if (!held) return;
    std::vector<asio::ip::address> addresses;
    for (const auto& endpoint : resolved.addresses) addresses.push_back(endpoint.address());
    finish(held, addresses.empty() ? *held->state->end() : found_addresses(std::move(addresses)));
  });
  wait_until(look, look->limit);
}

}  // namespace ds::launcher
