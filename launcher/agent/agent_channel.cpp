#include "launcher/agent/agent_channel.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace ds::launcher {
namespace {

void make_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

/// Small frames are joined into writes of up to this size.
constexpr std::size_t kTogether = 16384;

/// Returns true for frames that nobody acts on at once.
bool may_wait(const Message& message) {
  if (std::holds_alternative<Started>(message)) return true;
  const auto* const ended = std::get_if<Exited>(&message);
  return ended != nullptr && ended->stage == Exited::Stage::none && ended->wait_status == 0;
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

AgentChannel::AgentChannel(int in, int out) : in_(in), out_(out) {
  make_nonblocking(in);
  make_nonblocking(out);
}

bool AgentChannel::read_some() {
  std::array<std::byte, 65536> buffer;
  const ssize_t got = ::read(in_.get(), buffer.data(), buffer.size());
  if (got < 0) return would_block(errno);
  decoder_.feed(std::span(buffer).first(static_cast<std::size_t>(got)));
  return got > 0;
}

void AgentChannel::send_text(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  control_.emplace_back(bytes.begin(), bytes.end());
}

void AgentChannel::hold() {
  if (!anything_waiting()) held_until_ = Clock::now() + kPatience;
}

void AgentChannel::send_control(const Envelope& envelope, const Message& message) {
  if (broken_) return;
  may_wait(message) ? hold() : held_until_.reset();
  control_.push_back(encode(envelope, message));
}

void AgentChannel::send_last(const Envelope& envelope, const Message& message) {
  if (broken_) return;
  queue_output(encode(envelope, message));
  flush();
}

void AgentChannel::queue_output(Bytes frame) {
  output_waiting_ += frame.size();
  output_.push_back(std::move(frame));
}

void AgentChannel::send_output(const Envelope& envelope, const Output& output) {
  if (broken_) return;
  std::array<std::byte, kOutputHeaderBytes> head;
  write_output_header(head, envelope, output);
  const bool only_the_end = output.bytes.empty();
  std::size_t taken = 0;
  if (only_the_end) {
    hold();
  } else if (!anything_waiting()) {
    const iovec parts[] = {{head.data(), head.size()},
                           {const_cast<std::byte*>(output.bytes.data()), output.bytes.size()}};
    const ssize_t wrote = ::writev(out_.get(), parts, 2);
    if (wrote < 0 && !would_block(errno)) broken_ = true;
    taken = wrote < 0 ? 0 : static_cast<std::size_t>(wrote);
    if (taken == head.size() + output.bytes.size() || broken_) return;
  }
  Bytes frame(head.begin(), head.end());
  frame.insert(frame.end(), output.bytes.begin(), output.bytes.end());
  if (taken == 0) {
    queue_output(std::move(frame));
  } else {
    current_ = std::move(frame);
    written_ = taken;
  }
  if (held_until_ && !only_the_end) flush();
}

bool AgentChannel::write_current() {
  while (written_ < current_.size()) {
    const ssize_t wrote =
        ::write(out_.get(), current_.data() + written_, current_.size() - written_);
    if (wrote < 0 && errno == EINTR) continue;
    broken_ = wrote < 0 && !would_block(errno);
    if (wrote < 0) return false;
    written_ += static_cast<std::size_t>(wrote);
  }
  current_.clear();
  written_ = 0;
  return true;
}

/// Loads the next frame and small ones after it; returns false if none waits.
bool AgentChannel::load_next() {
  while (!control_.empty() || !output_.empty()) {
    std::deque<Bytes>& queue = control_.empty() ? output_ : control_;
    Bytes& next = queue.front();
    if (!current_.empty() && current_.size() + next.size() > kTogether) break;
    if (&queue == &output_) output_waiting_ -= next.size();
    if (current_.empty()) {
      current_ = std::move(next);
    } else {
      current_.insert(current_.end(), next.begin(), next.end());
    }
    queue.pop_front();
  }
  return !current_.empty();
}

void AgentChannel::flush() {
  held_until_.reset();
  while (!broken_ && write_current() && load_next()) {
  }
}

void AgentChannel::flush_due(Clock::time_point now) {
  if (!held_until_ || now >= *held_until_) flush();
}

}  // namespace ds::launcher
