// The ways to an answer in turn: number, hosts file, name servers, getaddrinfo.
#include "launcher/dns/dns_lookup.h"

#include <fmt/format.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/ip/udp.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <fstream>
#include <list>

#include "launcher/dns/candidate_names.h"
#include "launcher/dns/dns_query.h"
#include "launcher/dns/hosts_file.h"
#include "launcher/dns/lookup_state.h"
#include "launcher/dns/resolv_conf.h"
#include "launcher/transport/resolver.h"

namespace ds::launcher {

namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;
constexpr int kGetaddrinfoThreads = 4;

/// Empty if it cannot be read: then nothing is known from it.
std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 4096> piece{};
  while (text.size() < kMaxFileBytes && (file.read(piece.data(), piece.size()), file.gcount() > 0))
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  return text;
}

/// As the resolver of the C library: without a search list it is the own name's domain.
std::vector<std::string> search_of(const ResolvConf& conf) {
  if (!conf.search.empty()) return conf.search;
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return {};
  const std::string_view own(name);
  const std::size_t dot = own.find('.');
  if (dot == std::string_view::npos || dot + 1 == own.size()) return {};
  return {std::string(own.substr(dot + 1))};
}

DnsResult found(std::vector<asio::ip::address> addresses) {
  DnsResult result;
  std::stable_partition(addresses.begin(), addresses.end(),
                        [](const asio::ip::address& address) { return address.is_v4(); });
  for (asio::ip::address& address : addresses)
    if (std::find(result.addresses.begin(), result.addresses.end(), address) ==
        result.addresses.end())
      result.addresses.push_back(std::move(address));
  return result;
}

asio::ip::address address_of(const std::vector<std::uint8_t>& bytes) {
  if (bytes.size() == 4) {
    asio::ip::address_v4::bytes_type v4{};
    std::copy(bytes.begin(), bytes.end(), v4.begin());
    return asio::ip::address_v4(v4);
  }
  asio::ip::address_v6::bytes_type v6{};
  std::copy(bytes.begin(), bytes.end(), v6.begin());
  return asio::ip::address_v6(v6);
}

/// Numbers, the hosts file, and what RFC 6761 says of localhost.
std::vector<asio::ip::address> known_addresses(const std::string& name,
                                               const std::string& hosts_file) {
  std::vector<asio::ip::address> addresses;
  asio::error_code error;
  const auto add = [&](const std::string& text) {
    const asio::ip::address address = asio::ip::make_address(text, error);
    if (!error) addresses.push_back(address);
  };
  add(name);
  if (!addresses.empty()) return addresses;
  for (const std::string& text : find_in_hosts_file(text_of(hosts_file), name)) add(text);
  const std::string plain = plain_name(name);
  if (addresses.empty() && (plain == "localhost" || plain.ends_with(".localhost"))) {
    addresses.push_back(asio::ip::address_v4::loopback());
    addresses.push_back(asio::ip::address_v6::loopback());
  }
  return addresses;
}

/// What it says when the library has no address either, or none in time.
DnsResult without_library(const DnsResult& answer, DnsProblem problem, const std::string& text) {
  if (answer.problem != DnsProblem::none) return answer;  // name servers tell more
  DnsResult result;
  result.problem = problem;
  result.text = text;
  return result;
}

}  // namespace

class DnsLookup::Impl : public std::enable_shared_from_this<DnsLookup::Impl> {
 public:
  Impl(asio::io_context& io, DnsOptions options) : io_(io), options_(std::move(options)) {}

  void look_up(const std::string& name, std::function<void(DnsResult)> done);

 private:
  /// One look_up under way.
  struct Look {
    Look(asio::io_context& io, std::string what, std::function<void(DnsResult)> callback)
        : name(std::move(what)), done(std::move(callback)), timer(io) {}
    std::string name;
    std::function<void(DnsResult)> done;
    asio::steady_timer timer;
    Clock::time_point limit;
    std::vector<asio::ip::udp::endpoint> servers;
    std::optional<LookupState> state;
    DnsResult answer;  // of the name servers, when getaddrinfo is asked besides
    std::vector<std::unique_ptr<DnsQuery>> queries;
    std::list<std::shared_ptr<Look>>::iterator place;
  };
  using LookPtr = std::shared_ptr<Look>;

  void finish(const LookPtr& look, DnsResult result);
  void finish_later(const LookPtr& look, DnsResult result);
  bool ask_servers(const LookPtr& look, const ResolvConf& conf);
  void ask_library(const LookPtr& look);
  void send_queries(const LookPtr& look);
  void step(const LookPtr& look);
  void ended(const LookPtr& look, const LookupEnd& end);

  asio::io_context& io_;
  DnsOptions options_;
  std::list<LookPtr> looks_;  // the only owner
  std::unique_ptr<Resolver> resolver_;
};

void DnsLookup::Impl::look_up(const std::string& name, std::function<void(DnsResult)> done) {
  auto look = std::make_shared<Look>(io_, name, std::move(done));
  look->place = looks_.insert(looks_.end(), look);
  look->limit = Clock::now() + options_.limit;
  auto known = known_addresses(name, options_.hosts_file);
  if (!known.empty()) return finish_later(look, found(std::move(known)));
  if (!ask_servers(look, parse_resolv_conf(text_of(options_.resolv_conf)))) ask_library(look);
}

void DnsLookup::Impl::finish(const LookPtr& look, DnsResult result) {
  const auto done = std::move(look->done);
  looks_.erase(look->place);
  look->queries.clear();
  look->timer.cancel();
  done(std::move(result));
}

void DnsLookup::Impl::finish_later(const LookPtr& look, DnsResult result) {
  asio::post(io_, [weak = std::weak_ptr(look), life = weak_from_this(), result] {
    const auto self = life.lock();
    if (const auto held = weak.lock(); self && held) self->finish(held, result);
  });
}

/// False: there is nobody to ask, or nothing that can be asked.
bool DnsLookup::Impl::ask_servers(const LookPtr& look, const ResolvConf& conf) {
  LookupPlan plan;
  plan.candidates = candidate_names(look->name, search_of(conf), conf.ndots);
  for (const std::string& server : conf.servers) {
    asio::error_code error;
    const asio::ip::address address = asio::ip::make_address(server, error);
    if (error) continue;  // the scope of an interface that is not here
    look->servers.emplace_back(address, options_.port);
    plan.servers.push_back(server);
  }
  if (plan.candidates.empty() || plan.servers.empty()) return false;
  plan.timeout =
      std::min<std::chrono::milliseconds>(plan.timeout, std::chrono::seconds(conf.timeout));
  plan.tries = conf.attempts;
  plan.tcp_only = conf.tcp_only;
  plan.limit = options_.limit;
  look->state.emplace(std::move(plan), Clock::now());
  step(look);
  return true;
}

void DnsLookup::Impl::send_queries(const LookPtr& look) {
  for (const LookupQuery& query : look->state->take_queries()) {
    const std::weak_ptr weak(look);
    const auto with_look = [this, weak](auto use) {
      if (const LookPtr held = weak.lock()) {  // then this object lives too
        use(*held->state);
        step(held);
      }
    };
    look->queries.push_back(send_dns_query(
        io_, look->servers[query.server], query.tcp, query.question,
        {[with_look, number = query.number](const DnsReply& reply) {
           with_look([&](LookupState& state) { state.on_reply(number, reply, Clock::now()); });
         },
         [with_look, number = query.number](const std::string& why) {
           with_look([&](LookupState& state) { state.on_trouble(number, why, Clock::now()); });
         }}));
  }
}

/// Sends what is due and waits for what comes next.
void DnsLookup::Impl::step(const LookPtr& look) {
  send_queries(look);
  if (look->state->end()) return ended(look, *look->state->end());
  look->timer.expires_at(look->state->wake_at());
  look->timer.async_wait([this, weak = std::weak_ptr(look)](const asio::error_code& error) {
    const LookPtr held = error ? nullptr : weak.lock();
    if (!held) return;
    held->state->on_time(Clock::now());
    step(held);
  });
}

void DnsLookup::Impl::ended(const LookPtr& look, const LookupEnd& end) {
  std::vector<asio::ip::address> addresses;
  for (const auto& bytes : end.addresses) addresses.push_back(address_of(bytes));
  DnsResult result = found(std::move(addresses));
  result.problem = end.problem;
  result.text = end.text;
  result.negative_ttl = end.negative_ttl;
  result.queries = look->state->queries();
  if (end.problem != DnsProblem::no_record || !has_further_sources(text_of(options_.nsswitch)))
    return finish(look, std::move(result));
  look->answer = std::move(result);
  ask_library(look);
}

void DnsLookup::Impl::ask_library(const LookPtr& look) {
  if (!resolver_) resolver_ = std::make_unique<Resolver>(io_, kGetaddrinfoThreads);
  const std::weak_ptr weak(look);
  resolver_->resolve(look->name, 0, [this, weak](const Resolved& resolved) {
    const LookPtr held = weak.lock();
    if (!held) return;
    std::vector<asio::ip::address> addresses;
    for (const auto& endpoint : resolved.addresses) addresses.push_back(endpoint.address());
    DnsResult result = found(std::move(addresses));
    result.queries = held->answer.queries;
    if (!result.addresses.empty()) return finish(held, std::move(result));
    const bool failed = resolved.problem == ::gai_strerror(EAI_AGAIN);
    finish(held,
           without_library(
               held->answer, failed ? DnsProblem::server_failed : DnsProblem::no_record,
               fmt::format("{} ({}, says getaddrinfo)",
                           failed ? "the name service failed" : "no address", resolved.problem)));
  });
  look->timer.expires_at(look->limit);
  look->timer.async_wait([this, weak](const asio::error_code& error) {
    const LookPtr held = error ? nullptr : weak.lock();
    if (held)
      finish(held, without_library(held->answer, DnsProblem::no_answer,
                                   "no answer from getaddrinfo in time"));
  });
}

DnsLookup::DnsLookup(asio::io_context& io, DnsOptions options)
    : impl_(std::make_shared<Impl>(io, std::move(options))) {}
DnsLookup::~DnsLookup() = default;

void DnsLookup::look_up(const std::string& name, std::function<void(DnsResult)> done) {
  impl_->look_up(name, std::move(done));
}

}  // namespace ds::launcher
