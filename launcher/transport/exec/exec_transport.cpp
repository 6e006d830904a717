// A window of starting programs.
#include "launcher/transport/exec/exec_transport.h"

#include <pwd.h>
#include <unistd.h>

#include <asio/post.hpp>
#include <deque>

#include "engine/base/error.h"
#include "launcher/transport/exec/exec_link.h"
#include "launcher/transport/exec/exec_template.h"

namespace ds::launcher {

namespace {

std::string user_name() {
  const passwd* entry = ::getpwuid(::getuid());
  return entry == nullptr ? std::to_string(::getuid()) : entry->pw_name;
}

/// What the channels share.
class Starter : public std::enable_shared_from_this<Starter> {
 public:
  Starter(asio::io_context& io, ExecOptions options)
      : io_(io), options_(std::move(options)), user_(user_name()) {}

  std::shared_ptr<ExecLink> enqueue(const Host& host, ChannelEvents events) {
    auto link = std::make_shared<ExecLink>(io_, host.name, std::move(events));
    waiting_.push_back({host, link});
    post_pump();
    return link;
  }

 private:
  struct Waiting {
    Host host;
    std::weak_ptr<ExecLink> link;
  };

  void post_pump() {
    asio::post(io_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->pump();
    });
  }

  void pump() {
    while (under_way_ < options_.window && !waiting_.empty()) {
      const Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      if (const auto link = next.link.lock()) start(next.host, *link);
    }
  }

  void start(const Host& host, ExecLink& link) {
    std::vector<std::string> argv;
    try {
      argv = fill_exec_template(options_.words, host, user_, options_.remote_command);
    } catch (const Error& error) {
      // The message names the host, as the channel will.
      return link.refuse(std::string(error.what()).substr(host.name.size() + 2));
    }
    ++under_way_;
    link.start(argv, options_.start_limit, [this, weak = weak_from_this()] {
      if (weak.expired()) return;
      --under_way_;
      post_pump();
    });
  }

  asio::io_context& io_;
  ExecOptions options_;
  std::string user_;
  std::deque<Waiting> waiting_;
  int under_way_ = 0;
};

class ExecChannel final : public Channel {
 public:
  explicit ExecChannel(std::shared_ptr<ExecLink> link) : link_(std::move(link)) {}
  ~ExecChannel() override { link_->abandon(); }
  ExecChannel(const ExecChannel&) = delete;
  ExecChannel& operator=(const ExecChannel&) = delete;
  void send(Bytes bytes) override { link_->send(std::move(bytes)); }
  [[nodiscard]] std::size_t unsent() const override { return link_->unsent(); }
  void pause_reading(bool pause) override { link_->pause(pause); }
  void close() override { link_->close(); }

 private:
  std::shared_ptr<ExecLink> link_;
};

class ExecTransport final : public Transport {
 public:
  ExecTransport(asio::io_context& io, ExecOptions options)
      : starter_(std::make_shared<Starter>(io, std::move(options))) {}

  std::unique_ptr<Channel> open(const Host& host, ChannelEvents events) override {
    return std::make_unique<ExecChannel>(starter_->enqueue(host, std::move(events)));
  }

 private:
  std::shared_ptr<Starter> starter_;
};

}  // namespace

std::unique_ptr<Transport> make_exec_transport(asio::io_context& io, ExecOptions options) {
  return std::make_unique<ExecTransport>(io, std::move(options));
}

}  // namespace ds::launcher
