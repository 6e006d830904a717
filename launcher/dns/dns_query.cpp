#include "launcher/dns/dns_query.h"

#include <fmt/format.h>
#include <netdb.h>

#include <array>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "engine/base/deadline.h"

namespace ds::launcher {
namespace {

using Kind = DnsAnswer::Kind;

constexpr int kInternet = 1;  // class IN
constexpr int kTypeA = 1;
constexpr int kTypeAaaa = 28;

std::string rcode_name(unsigned rcode) {
  constexpr std::array kNames = {"NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"};
  return rcode < kNames.size() ? kNames[rcode] : fmt::format("rcode {}", rcode);
}

/// Returns what a message says; `message` has passed the checks of c-ares (id, question).
DnsAnswer answer_of(std::span<unsigned char> message, bool ipv6) {
  const unsigned rcode = message[3] & 0xFU;
  if (rcode == 3) return {Kind::no_name, {}, {}, negative_ttl(message)};
  if (rcode != 0) return {Kind::failed, {}, rcode_name(rcode), {}};
  hostent* host = nullptr;
  const int size = static_cast<int>(message.size());
  const int status = ipv6 ? ares_parse_aaaa_reply(message.data(), size, &host, nullptr, nullptr)
                          : ares_parse_a_reply(message.data(), size, &host, nullptr, nullptr);
  if (status == ARES_ENODATA) return {Kind::no_address, {}, {}, negative_ttl(message)};
  if (status != ARES_SUCCESS) return {Kind::failed, {}, "malformed answer", {}};
  DnsAnswer answer{Kind::addresses, {}, {}, {}};
  for (char** address = host->h_addr_list; *address != nullptr; ++address)
    answer.addresses.push_back(asio::ip::make_address(numeric_text(host->h_addrtype, *address)));
  ares_free_hostent(host);
  if (answer.addresses.empty()) return {Kind::no_address, {}, {}, negative_ttl(message)};
  return answer;
}

DnsAnswer without_message(int status, Clock::duration waited) {
  if (status == ARES_EBADNAME) return {Kind::bad_name, {}, {}, {}};
  if (status == ARES_EBADRESP) return {Kind::failed, {}, "malformed answer", {}};  // as of 1.34
  if (status == ARES_ETIMEOUT) return {Kind::silent, {}, within_text(waited), {}};
  // c-ares has one code for all that keeps a packet from its server.
  if (status == ARES_ECONNREFUSED)
    return {Kind::silent, {}, "(connection refused, or no route)", {}};
  return {Kind::silent, {}, fmt::format("({})", ares_strerror(status)), {}};
}

class Query : public std::enable_shared_from_this<Query> {
 public:
  Query(asio::io_context& io, const DnsQuestion& question, std::function<void(DnsAnswer)> done)
      : io_(io), question_(question), done_(std::move(done)), timer_(io) {}
  ~Query() { channel_.reset(); }  // calls forget(), which needs sockets_
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  void start() {
    AresOptions options;
    options.tcp = question_.tcp;
    options.timeout_ms = static_cast<int>(question_.timeout.count());
    options.on_socket = [](void* self, ares_socket_t fd, int readable, int writable) {
      static_cast<Query*>(self)->watch(fd, readable != 0, writable != 0);
    };
    options.self = this;
    channel_ = open_channel(options);
    const bool v6 = question_.server.find(':') != std::string::npos;
    const std::string host = v6 ? "[" + question_.server + "]" : question_.server;
    const std::string server = fmt::format("{}:{}", host, question_.port);
    if (!channel_ || ares_set_servers_ports_csv(channel_.get(), server.c_str()) != ARES_SUCCESS)
      answer_ = without_message(ARES_ENOMEM, {});
    else
      ares_query(channel_.get(), question_.name.c_str(), kInternet,
                 question_.ipv6 ? kTypeAaaa : kTypeA, &Query::answered, this);
    if (!answer_) return wait();
    asio::post(io_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->wait();
    });
  }

 private:
  /// A socket of c-ares, which opens and closes it.
  struct Socket {
    Socket(asio::io_context& io, int fd) : descriptor(io) {
      asio::error_code ignored;  // unwatched, it ends by its timeout
      descriptor.assign(fd, ignored);
    }
    asio::posix::stream_descriptor descriptor;
    std::array<bool, 2> wanted{};   // readable, writable
    std::array<bool, 2> awaited{};  // a wait for it is under way
  };

  /// c-ares calls this inside of its functions: the answer is kept until they have returned.
  static void answered(void* data, int status, int, unsigned char* bytes, int size) {
    auto* self = static_cast<Query*>(data);
    if (status == ARES_EDESTRUCTION) return;
    self->answer_ = bytes != nullptr && size >= 12
                        ? answer_of({bytes, static_cast<std::size_t>(size)}, self->question_.ipv6)
                        : without_message(status, Clock::now() - self->began_);
  }

  void watch(ares_socket_t fd, bool readable, bool writable) {
    auto& socket = sockets_[fd];
    if (!readable && !writable) {
      // Now, even while a handler holds it: c-ares closes it next, and the number may come again.
      if (socket) socket->descriptor.release();
      sockets_.erase(fd);
      return;
    }
    if (!socket) socket = std::make_shared<Socket>(io_, fd);
    socket->wanted = {readable, writable};
    await(fd, socket);
  }

  void await(int fd, const std::shared_ptr<Socket>& socket) {
    for (const std::size_t i : {0U, 1U}) {
      if (!socket->wanted[i] || std::exchange(socket->awaited[i], true)) continue;
      const auto what = i == 0 ? asio::posix::stream_descriptor::wait_read
                               : asio::posix::stream_descriptor::wait_write;
      socket->descriptor.async_wait(what, [query = weak_from_this(), weak = std::weak_ptr(socket),
                                           fd, i](const asio::error_code& error) {
        const auto self = query.lock();
        const auto ready = weak.lock();  // none: closed since
        if (error || !self || !ready) return;
        ready->awaited[i] = false;
        ares_process_fd(self->channel_.get(), i == 0 ? fd : ARES_SOCKET_BAD,
                        i == 1 ? fd : ARES_SOCKET_BAD);
        const auto still = self->sockets_.find(fd);
        if (still != self->sockets_.end() && still->second == ready) self->await(fd, ready);
        self->wait();
      });
    }
  }

  /// Hands the answer over, or waits for the next timeout of c-ares.
  void wait() {
    if (answer_) {
      timer_.cancel();
      if (done_) std::exchange(done_, nullptr)(std::move(*answer_));
      return;
    }
    timeval left{};
    if (ares_timeout(channel_.get(), nullptr, &left) == nullptr) return;
    timer_.expires_after(std::chrono::seconds(left.tv_sec) +
                         std::chrono::microseconds(left.tv_usec));
    timer_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
      const auto self = error ? nullptr : weak.lock();
      if (!self) return;
      ares_process_fd(self->channel_.get(), ARES_SOCKET_BAD, ARES_SOCKET_BAD);
      self->wait();
    });
  }

  asio::io_context& io_;
  DnsQuestion question_;
  std::function<void(DnsAnswer)> done_;
  asio::steady_timer timer_;
  std::map<int, std::shared_ptr<Socket>> sockets_;
  Clock::time_point began_ = Clock::now();
  std::optional<DnsAnswer> answer_;
  AresChannel channel_;
};

}  // namespace

DnsQuery send_dns_query(asio::io_context& io, const DnsQuestion& question,
                        std::function<void(DnsAnswer)> done) {
  auto query = std::make_shared<Query>(io, question, std::move(done));
  query->start();
  return query;
}

}  // namespace ds::launcher
