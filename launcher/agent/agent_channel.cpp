// Non-blocking reads and writes of frames.
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
  flush();
}

void AgentChannel::send_control(const Envelope& envelope, const Message& message) {
  if (broken_) return;
  control_.push_back(encode(envelope, message));
  flush();
}

void AgentChannel::send_last(const Envelope& envelope, const Message& message) {
  if (broken_) return;
  output_.push_back(encode(envelope, message));
  output_waiting_ += output_.back().size();
  flush();
}

void AgentChannel::send_output(const Envelope& envelope, const Output& output) {
  if (broken_) return;
  std::array<std::byte, kOutputHeaderBytes> head;
  write_output_header(head, envelope, output);
  const std::size_t size = head.size() + output.bytes.size();
  std::size_t taken = 0;
  const bool idle = !anything_waiting();
  if (idle) {
    const iovec parts[] = {{head.data(), head.size()},
                           {const_cast<std::byte*>(output.bytes.data()), output.bytes.size()}};
    const ssize_t wrote = ::writev(out_.get(), parts, 2);
    if (wrote < 0 && !would_block(errno)) broken_ = true;
    taken = wrote < 0 ? 0 : static_cast<std::size_t>(wrote);
    if (taken == size || broken_) return;
  }
  Bytes frame(head.begin(), head.end());
  frame.insert(frame.end(), output.bytes.begin(), output.bytes.end());
  output_waiting_ += size;
  if (taken == 0) {
    output_.push_back(std::move(frame));
  } else {
    current_ = std::move(frame);
    written_ = taken;
    output_waiting_ -= size;
  }
}

bool AgentChannel::write_current() {
  while (written_ < current_.size()) {
    const ssize_t wrote =
        ::write(out_.get(), current_.data() + written_, current_.size() - written_);
    if (wrote < 0) {
      if (errno == EINTR) continue;
      broken_ = !would_block(errno);
      return false;
    }
    written_ += static_cast<std::size_t>(wrote);
  }
  current_.clear();
  written_ = 0;
  return true;
}

bool AgentChannel::load_next() {
  if (!control_.empty()) {
    current_ = std::move(control_.front());
    control_.pop_front();
  } else if (!output_.empty()) {
    current_ = std::move(output_.front());
    output_.pop_front();
    output_waiting_ -= current_.size();
  } else {
    return false;
  }
  return true;
}

void AgentChannel::flush() {
  while (!broken_ && write_current() && load_next()) {
  }
}

}  // namespace ds::launcher
