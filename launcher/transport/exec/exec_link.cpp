// Handles the socket, the exit and the deadlines of one program.
#include "launcher/transport/exec/exec_link.h"

#include <fmt/format.h>

#include <array>
#include <asio/buffer.hpp>
#include <utility>

namespace ds::launcher {

namespace {

using namespace std::chrono_literals;
using Socket = asio::local::stream_protocol::socket;

constexpr auto kEndsWithin = 5s;  // a program must exit this soon after the end of its output
constexpr std::size_t kReadAtOnce = 64 * 1024;

}  // namespace

void ExecLink::start(const std::vector<std::string>& argv, std::chrono::milliseconds start_limit,
                     std::function<void()> on_settled) {
  on_settled_ = std::move(on_settled);
  program_ = argv.front();
  start_limit_ = start_limit;
  const std::weak_ptr<ExecLink> weak = weak_from_this();
  StartedChild child = start_child(io_, argv,
                                   {.on_stderr =
                                        [weak](std::string_view text) {
                                          const auto self = weak.lock();
                                          if (self && self->events_.on_noise)
                                            self->events_.on_noise(text);
                                        },
                                    .on_exit =
                                        [weak](const ExitStatus& status) {
                                          if (const auto self = weak.lock()) self->on_exit(status);
                                        }});
  if (!child.socket)
    return end(ChannelEnd::Kind::unreachable, stage::kConnect, "cannot start " + child.problem);
  process_ = std::move(child.process);
  socket_.assign(asio::local::stream_protocol(), child.socket.release());
  socket_.non_blocking(true);
  limit(start_limit, &ExecLink::too_late);
  wait_for_bytes();
  if (!queue_.empty()) write();
  if (closing_ && queue_.empty()) shut_down();
}

void ExecLink::limit(std::chrono::milliseconds span, void (ExecLink::*then)()) {
  timer_.expires_after(span);
  timer_.async_wait([weak = weak_from_this(), then](const asio::error_code& error) {
    const auto self = weak.lock();
    if (!error && self && !self->ended_) (self.get()->*then)();
  });
}

void ExecLink::too_late() {
  end(ChannelEnd::Kind::no_agent, stage::kStart,
      fmt::format("{} gave no answer within {:.3g} s", program_,
                  std::chrono::duration<double>(start_limit_).count()));
}

void ExecLink::wait_for_bytes() {
  if (ended_ || !socket_.is_open() || std::exchange(waiting_, true)) return;
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const asio::error_code& error) {
    self->waiting_ = false;
    if (!error && !self->ended_) self->read();
  });
}

void ExecLink::read() {
  std::array<std::byte, kReadAtOnce> buffer;
  asio::error_code error;
  const std::size_t count = socket_.read_some(asio::buffer(buffer), error);
  if (error == asio::error::would_block || error == asio::error::interrupted)
    return wait_for_bytes();
  if (count > 0) {
    if (!std::exchange(answered_, true)) {
      timer_.cancel();
      settle();
    }
    if (events_.on_bytes) events_.on_bytes(std::span(buffer).first(count));
  }
  if (ended_ || !error) return wait_for_bytes();
  eof_ = true;
  if (status_) return finish();
  limit(kEndsWithin, &ExecLink::finish);
}

void ExecLink::on_exit(const ExitStatus& status) {
  status_ = status;
  // The end was not read before, so the last bytes are still in the socket.
  if (eof_ && !ended_) finish();
}

void ExecLink::finish() {
  if (status_ && status_->success()) return end(ChannelEnd::Kind::closed, "", {});
  const std::string how = status_ ? status_->describe() : "closed its output and did not end";
  end(answered_ ? ChannelEnd::Kind::lost : ChannelEnd::Kind::no_agent,
      answered_ ? stage::kRunning : stage::kStart, fmt::format("{} {}", program_, how));
}

void ExecLink::send(Bytes bytes) {
  unsent_ += bytes.size();
  queue_.push_back(std::move(bytes));
  if (queue_.size() == 1 && socket_.is_open()) write();
}

void ExecLink::write() {
  socket_.async_send(asio::buffer(queue_.front().data() + sent_, queue_.front().size() - sent_),
                     [self = shared_from_this()](const asio::error_code& error, std::size_t count) {
                       if (error || self->queue_.empty()) {
                         self->queue_.clear();
                         self->unsent_ = 0;
                         return;  // the reader sees the end as well
                       }
                       self->unsent_ -= count;
                       self->sent_ += count;
                       if (self->sent_ == self->queue_.front().size()) {
                         self->sent_ = 0;
                         self->queue_.pop_front();
                       }
                       if (!self->queue_.empty()) return self->write();
                       if (self->closing_) self->shut_down();
                     });
}

void ExecLink::close() {
  closing_ = true;
  if (queue_.empty() && socket_.is_open()) shut_down();
}

void ExecLink::shut_down() {
  asio::error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void ExecLink::abandon() {
  ended_ = true;
  events_ = {};
  settle();
  process_.reset();
  asio::error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
}

void ExecLink::settle() {
  if (const auto tell = std::exchange(on_settled_, nullptr)) tell();
}

void ExecLink::end(ChannelEnd::Kind kind, const char* stage, const std::string& why) {
  if (ended_) return;
  const auto keep = shared_from_this();
  const auto on_end = std::move(events_.on_end);
  abandon();
  if (!on_end) return;
  on_end({kind, kind == ChannelEnd::Kind::closed ? std::string() : host_name_ + ": " + why, stage});
}

}  // namespace ds::launcher
