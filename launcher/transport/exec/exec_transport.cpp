// Starts the programs of an exec transport, a limited number at once; handles their exits and
// deadlines.
#include "launcher/transport/exec/exec_transport.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "launcher/transport/child_process.h"
#include "launcher/transport/exec/exec_template.h"
#include "launcher/transport/stream_channel.h"
#include "launcher/transport/turns.h"

namespace ds::launcher {

namespace {

constexpr std::chrono::seconds kEndsWithin{5};  // an exit after the end of the program's output

std::string user_name() {
  const passwd* entry = ::getpwuid(::getuid());
  return entry == nullptr ? std::to_string(::getuid()) : entry->pw_name;
}

/// State that all channels of the transport share.
struct Shared {
  asio::io_context& io;
  ExecOptions options;
  std::string user = user_name();
  std::shared_ptr<Turns> turns = std::make_shared<Turns>(io, options.window);
};

class ExecChannel final : public StreamChannel {
 public:
  ExecChannel(std::shared_ptr<const Shared> shared, const Host& host, ChannelEvents events)
      : StreamChannel(shared->io, host.name, std::move(events)),
        shared_(std::move(shared)),
        host_(host) {
    shared_->turns->enqueue(
        [this, life = std::weak_ptr(events_)] { return !life.expired() && start(); });
  }
  ~ExecChannel() override { leave_window(); }

 private:
  /// Returns true if a place among the starting programs is taken until leave_window().
  bool start() {
    std::vector<std::string> argv;
    try {
      argv = fill_exec_template(shared_->options.words, host_, shared_->user,
                                shared_->options.remote_command);
    } catch (const Error& error) {
      // The message names the host, as messages of the channel do.
      end(ChannelEnd::Kind::unreachable, stage::kConfig,
          std::string(error.what()).substr(host_.name.size() + 2));
      return false;
    }
    in_window_ = true;
    program_ = argv.front();
    StartedChild child =
        start_child(shared_->io, argv,
                    {.on_stderr =
                         [this](std::string_view text) {
                           const auto events = events_;
                           if (events && events->on_noise) events->on_noise(text);
                         },
                     .on_exit = [this](const ExitStatus& status) { on_exit(status); }});
    if (!child.socket) {
      finish(ChannelEnd::Kind::unreachable, stage::kConnect, "cannot start " + child.problem);
      return true;
    }
    process_ = std::move(child.process);
    after(shared_->options.start_limit, [this] { too_late(); });
    attach(std::move(child.socket));
    return true;
  }

  void too_late() {
    finish(ChannelEnd::Kind::no_agent, stage::kStart,
           fmt::format("{} gave no answer within {:.3g} s", program_,
                       std::chrono::duration<double>(shared_->options.start_limit).count()));
  }

  void on_received() override {
    if (std::exchange(answered_, true)) return;
    cancel_timer();
    leave_window();
  }

  void on_eof() override {
    eof_ = true;
    if (status_) return stopped();
    after(kEndsWithin, [this] { stopped(); });
  }

  void on_exit(const ExitStatus& status) {
    status_ = status;
    if (eof_) stopped();  // else the last bytes are still in the socket
  }

  void stopped() {
    if (status_ && status_->success()) return finish(ChannelEnd::Kind::closed, "", {});
    const std::string how = status_ ? status_->describe() : "closed its output and did not end";
    finish(answered_ ? ChannelEnd::Kind::lost : ChannelEnd::Kind::no_agent,
           answered_ ? stage::kRunning : stage::kStart, fmt::format("{} {}", program_, how));
  }

  void finish(ChannelEnd::Kind kind, const char* stage, const std::string& why) {
    leave_window();
    process_.reset();
    end(kind, stage, why);
  }

  void leave_window() {
    if (std::exchange(in_window_, false)) shared_->turns->done();
  }

  std::shared_ptr<const Shared> shared_;
  Host host_;
  std::string program_;
  std::shared_ptr<ChildProcess> process_;
  std::optional<ExitStatus> status_;
  bool in_window_ = false;
  bool answered_ = false;
  bool eof_ = false;
};

class ExecTransport final : public Transport {
 public:
  ExecTransport(asio::io_context& io, ExecOptions options)
      : shared_(new Shared{io, std::move(options)}) {}

  std::unique_ptr<Channel> open(const Host& host, ChannelEvents events) override {
    return std::make_unique<ExecChannel>(shared_, host, std::move(events));
  }

 private:
  std::shared_ptr<const Shared> shared_;
};

}  // namespace

std::unique_ptr<Transport> make_exec_transport(asio::io_context& io, ExecOptions options) {
  return std::make_unique<ExecTransport>(io, std::move(options));
}

}  // namespace ds::launcher
