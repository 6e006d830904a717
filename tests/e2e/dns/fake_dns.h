// Name server on 127.0.0.x, UDP and TCP, whose answers a test scripts byte by byte.
#pragma once

#include <array>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/udp.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/dns_message.h"

namespace ds::test {

struct AskedQuestion {
  unsigned id = 0;
  std::string name{};
  unsigned type = 0;  // 1: A, 28: AAAA
  bool tcp = false;
};

using Messages = std::vector<std::vector<std::byte>>;

/// Answers each question with the messages that `answer` returns; none means silence.
class FakeDns {
 public:
  using Answer = std::function<Messages(const AskedQuestion&)>;
  /// `port` 0: any free one.
  FakeDns(asio::io_context& io, const std::string& address, std::uint16_t port, Answer answer)
      : answer_(std::move(answer)),
        acceptor_(io, {asio::ip::make_address(address), port}),
        socket_(io, {asio::ip::make_address(address), acceptor_.local_endpoint().port()}) {
    receive();
    accept();
  }
  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  [[nodiscard]] const std::vector<AskedQuestion>& asked() const { return asked_; }
  /// The client's port of each UDP question.
  [[nodiscard]] const std::vector<std::uint16_t>& ports() const { return ports_; }
  [[nodiscard]] asio::ip::udp::endpoint last_client() const { return client_; }

 private:
  using Tcp = std::shared_ptr<asio::ip::tcp::socket>;

  static AskedQuestion read(const std::byte* bytes, bool tcp) {
    const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
    AskedQuestion question{at(0) << 8U | at(1), {}, 0, tcp};
    std::size_t i = 12;
    for (; at(i) != 0; i += at(i) + 1) {
      if (i > 12) question.name += '.';
      for (std::size_t k = 1; k <= at(i); ++k) question.name += static_cast<char>(at(i + k));
    }
    question.type = at(i + 1) << 8U | at(i + 2);
    return question;
  }
  Messages answers(const std::byte* bytes, bool tcp) {
    asked_.push_back(read(bytes, tcp));
    return answer_(asked_.back());
  }
  void receive() {
    socket_.async_receive_from(asio::buffer(buffer_), client_,
                               [this](const asio::error_code& error, std::size_t) {
                                 if (error) return;
                                 ports_.push_back(client_.port());
                                 for (const auto& message : answers(buffer_.data(), false))
                                   socket_.send_to(asio::buffer(message), client_);
                                 receive();
                               });
  }
  void accept() {
    acceptor_.async_accept([this](const asio::error_code& error, asio::ip::tcp::socket socket) {
      if (error) return;
      serve(std::make_shared<asio::ip::tcp::socket>(std::move(socket)));
      accept();
    });
  }
  void serve(const Tcp& socket) {
    auto bytes = std::make_shared<std::vector<std::byte>>(2);
    asio::async_read(*socket, asio::buffer(*bytes), [=, this](const auto& error, std::size_t) {
      if (error) return;
      bytes->resize(std::to_integer<std::size_t>((*bytes)[0]) << 8U |
                    std::to_integer<std::size_t>((*bytes)[1]));
      asio::async_read(*socket, asio::buffer(*bytes), [=, this](const auto& bad, std::size_t) {
        if (bad) return;
        for (const auto& message : answers(bytes->data(), true)) {
          const std::array size = {static_cast<std::byte>(message.size() >> 8U),
                                   static_cast<std::byte>(message.size() & 0xFFU)};
          asio::write(*socket, asio::buffer(size));
          asio::write(*socket, asio::buffer(message));
        }
      });
    });
  }

  Answer answer_;
  asio::ip::tcp::acceptor acceptor_;
  asio::ip::udp::socket socket_;
  asio::ip::udp::endpoint client_;
  std::array<std::byte, 1024> buffer_{};
  std::vector<AskedQuestion> asked_;
  std::vector<std::uint16_t> ports_;
};

/// Returns an answer with those addresses that are of the type asked for; without any, it says
/// that the name has no address.
inline std::vector<std::byte> address_answer(const AskedQuestion& question,
                                             const std::vector<std::string>& addresses,
                                             unsigned flags = kAnswerFlags) {
  std::vector<std::string> fitting;
  for (const std::string& text : addresses)
    if ((text.find(':') != std::string::npos) == (question.type == 28)) fitting.push_back(text);
  MessageWriter message;
  message.head(question.id, flags, {1, static_cast<unsigned>(fitting.size()), 0, 0});
  message.question(question.name, question.type);
  for (const std::string& text : fitting) message.address(question.name, text);
  return message.bytes();
}

/// Returns an answer with an error code; NXDOMAIN (3) has an SOA record.
inline std::vector<std::byte> rcode_answer(const AskedQuestion& question, unsigned rcode,
                                           std::uint32_t negative_ttl = 5) {
  MessageWriter message;
  message.head(question.id, kAnswerFlags | rcode, {1, 0, rcode == 3 ? 1U : 0U, 0});
  message.question(question.name, question.type);
  if (rcode == 3) message.soa("cluster.local", negative_ttl, negative_ttl);
  return message.bytes();
}

}  // namespace ds::test
