// Two small exchanges that live as long as their handle.
#include "launcher/dns/dns_query.h"

#include <fcntl.h>
#include <sys/random.h>

#include <array>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>

#include "engine/base/error.h"

namespace ds::launcher {

namespace {

std::uint16_t random_id() {
  std::uint16_t id = 0;
  if (::getrandom(&id, sizeof id, 0) != sizeof id) throw_errno("cannot get random bytes", errno);
  return id;
}

/// Opens it so that no rank inherits it.
template <class Socket>
void open_own(Socket& socket, const typename Socket::protocol_type& protocol,
              asio::error_code& error) {
  socket.open(protocol, error);
  if (!error) (void)::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
}

/// What both ways share: the question, its id, and the one call of an event.
class Exchange {
 public:
  Exchange(const DnsQuestion& question, DnsQueryEvents events)
      : question_(question), events_(std::move(events)) {}
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  virtual void start() = 0;
  void cancel() {
    over_ = true;
    close();
  }

 protected:
  virtual void close() = 0;
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] std::vector<std::byte> packet() const { return encode_question(id_, question_); }

  void trouble(const std::string& why) {
    if (over_) return;
    cancel();
    events_.on_trouble(why);
  }
  /// False: not the answer to this question.
  bool take(std::span<const std::byte> bytes) {
    const std::optional<DnsReply> reply = decode_reply(bytes);
    if (!reply || reply->id != id_) return false;
    // A server that could not read the question, or refuses it, may leave it out.
    if (reply->question ? *reply->question != question_ : reply->rcode == kNoError) return false;
    cancel();
    events_.on_reply(*reply);
    return true;
  }

 private:
  DnsQuestion question_;
  DnsQueryEvents events_;
  std::uint16_t id_ = random_id();
  bool over_ = false;
};

class UdpExchange final : public Exchange, public std::enable_shared_from_this<UdpExchange> {
 public:
  UdpExchange(asio::io_context& io, const asio::ip::udp::endpoint& server,
              const DnsQuestion& question, DnsQueryEvents events)
      : Exchange(question, std::move(events)), socket_(io), server_(server) {}

  void start() override {
    asio::error_code error;
    open_own(socket_, server_.protocol(), error);
    if (!error) socket_.connect(server_, error);
    if (!error) socket_.non_blocking(true, error);
    if (!error) socket_.send(asio::buffer(packet()), 0, error);
    if (!error) return receive();
    asio::post(socket_.get_executor(),
               [self = shared_from_this(), why = error.message()] { self->trouble(why); });
  }

 private:
  void close() override {
    asio::error_code ignored;
    socket_.close(ignored);
  }
  void receive() {
    socket_.async_receive(
        asio::buffer(buffer_),
        [self = shared_from_this()](const asio::error_code& error, std::size_t size) {
          if (self->over()) return;
          if (error) return self->trouble(error.message());
          if (!self->take(std::as_bytes(std::span(self->buffer_).first(size)))) self->receive();
        });
  }

  asio::ip::udp::socket socket_;
  asio::ip::udp::endpoint server_;
  std::array<unsigned char, 4096> buffer_{};
};

class TcpExchange final : public Exchange, public std::enable_shared_from_this<TcpExchange> {
 public:
  TcpExchange(asio::io_context& io, const asio::ip::udp::endpoint& server,
              const DnsQuestion& question, DnsQueryEvents events)
      : Exchange(question, std::move(events)),
        socket_(io),
        server_(server.address(), server.port()) {}

  void start() override {
    asio::error_code ignored;  // connecting opens it otherwise, or fails with the reason
    open_own(socket_, server_.protocol(), ignored);
    socket_.async_connect(server_, [self = shared_from_this()](const asio::error_code& error) {
      if (self->good(error)) self->write();
    });
  }

 private:
  void close() override {
    asio::error_code ignored;
    socket_.close(ignored);
  }
  bool good(const asio::error_code& error) {
    if (error) trouble("over TCP: " + error.message());
    return !over();
  }
  void write() {
    const std::vector<std::byte> question = packet();
    buffer_.assign({std::byte{0}, static_cast<std::byte>(question.size())});  // below 256 + 18
    buffer_[0] = static_cast<std::byte>(question.size() >> 8U);
    buffer_.insert(buffer_.end(), question.begin(), question.end());
    asio::async_write(socket_, asio::buffer(buffer_),
                      [self = shared_from_this()](const asio::error_code& error, std::size_t) {
                        if (self->good(error)) self->read_size();
                      });
  }
  void read_size() {
    buffer_.resize(2);
    asio::async_read(socket_, asio::buffer(buffer_),
                     [self = shared_from_this()](const asio::error_code& error, std::size_t) {
                       if (self->good(error)) self->read_message();
                     });
  }
  void read_message() {
    buffer_.resize(std::to_integer<std::size_t>(buffer_[0]) << 8U |
                   std::to_integer<std::size_t>(buffer_[1]));
    asio::async_read(socket_, asio::buffer(buffer_),
                     [self = shared_from_this()](const asio::error_code& error, std::size_t) {
                       if (!self->good(error)) return;
                       if (!self->take(self->buffer_))
                         self->trouble("over TCP: not the answer to the question");
                     });
  }

  asio::ip::tcp::socket socket_;
  asio::ip::tcp::endpoint server_;
  std::vector<std::byte> buffer_;
};

class Handle final : public DnsQuery {
 public:
  explicit Handle(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~Handle() override { exchange_->cancel(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

 private:
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace

std::unique_ptr<DnsQuery> send_dns_query(asio::io_context& io,
                                         const asio::ip::udp::endpoint& server, bool tcp,
                                         const DnsQuestion& question, DnsQueryEvents events) {
  std::shared_ptr<Exchange> exchange;
  if (tcp)
    exchange = std::make_shared<TcpExchange>(io, server, question, std::move(events));
  else
    exchange = std::make_shared<UdpExchange>(io, server, question, std::move(events));
  exchange->start();
  return std::make_unique<Handle>(std::move(exchange));
}

}  // namespace ds::launcher
