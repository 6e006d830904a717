// Starts the programs of an exec transport, a limited number at once.
#include "launcher/transport/exec/exec_transport.h"

#include <pwd.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "launcher/transport/exec/exec_link.h"
#include "launcher/transport/exec/exec_template.h"
#include "launcher/transport/turns.h"

namespace ds::launcher {

namespace {

std::string user_name() {
  const passwd* entry = ::getpwuid(::getuid());
  return entry == nullptr ? std::to_string(::getuid()) : entry->pw_name;
}

/// State that all channels of the transport share.
class Starter : public std::enable_shared_from_this<Starter> {
 public:
  Starter(asio::io_context& io, ExecOptions options)
      : io_(io),
        options_(std::move(options)),
        user_(user_name()),
        turns_(std::make_shared<Turns>(io, options_.window)) {}

  std::shared_ptr<ExecLink> enqueue(const Host& host, ChannelEvents events) {
    auto link = std::make_shared<ExecLink>(io_, host.name, std::move(events));
    turns_->enqueue([self = weak_from_this(), weak = std::weak_ptr(link), host] {
      const auto starter = self.lock();
      const auto waiting = weak.lock();
      return starter && waiting && starter->start(host, *waiting);
    });
    return link;
  }

 private:
  /// Returns true if the program was started.
  bool start(const Host& host, ExecLink& link) {
    std::vector<std::string> argv;
    try {
      argv = fill_exec_template(options_.words, host, user_, options_.remote_command);
    } catch (const Error& error) {
      // The message names the host, as messages of the channel do.
      link.refuse(std::string(error.what()).substr(host.name.size() + 2));
      return false;
    }
    link.start(argv, options_.start_limit, [turns = turns_] { turns->done(); });
    return true;
  }

  asio::io_context& io_;
  ExecOptions options_;
  std::string user_;
  std::shared_ptr<Turns> turns_;
};

class ExecChannel final : public Channel {
 public:
  explicit ExecChannel(std::shared_ptr<ExecLink> link) : link_(std::move(link)) {}
  ~ExecChannel() override { link_->abandon(); }
  ExecChannel(const ExecChannel&) = delete;
  ExecChannel& operator=(const ExecChannel&) = delete;
  void send(Bytes bytes) override { link_->send(std::move(bytes)); }
  [[nodiscard]] std::size_t unsent() const override { return link_->unsent(); }
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
