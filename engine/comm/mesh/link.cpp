// Link: the two state machines of one connection.
#include "engine/comm/mesh/link.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/error.h"

namespace ds::comm {
namespace {

// The bytes that one call moves, so that both directions and all links take turns.
constexpr std::size_t kTurn = std::size_t{4} << 20;
constexpr std::size_t kTurnOfOffer = std::size_t{16} << 20;
constexpr std::size_t kParts = 64;

/// Where the next bytes of a message go, for one call.
class Window {
 public:
  /// Appends `parts` without their first `skip` bytes; at most `limit` bytes in all.
  void add(std::span<const iovec> parts, std::size_t skip, std::size_t limit = kTurn) {
    for (const iovec& part : parts) {
      if (count_ == kParts || bytes_ >= limit) return;
      if (skip >= part.iov_len) {
        skip -= part.iov_len;
        continue;
      }
      const std::size_t bytes = std::min(part.iov_len - skip, limit - bytes_);
      entries_[count_++] = {static_cast<std::byte*>(part.iov_base) + skip, bytes};
      bytes_ += bytes;
      skip = 0;
    }
  }
  [[nodiscard]] std::span<iovec> entries() { return std::span(entries_).first(count_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::array<iovec, kParts + 1> entries_;
  std::size_t count_ = 0, bytes_ = 0;
};

}  // namespace

Link::Link(UniqueFd fd, PeerMemory peer, std::size_t offer_from)
    : fd_(std::move(fd)), peer_(std::move(peer)), offer_from_(offer_from) {
  for (auto* list : {&out_, &in_}) list->reserve(4);
  answers_.reserve(4);
}

void Link::post(Message& message) {
  DS_ASSERT(message.bytes > 0);
  (message.outgoing ? out_ : in_).push_back(&message);
}

void Link::forget() {
  out_.clear();
  in_.clear();
  out_at_ = in_at_ = 0;
}

void Link::note(std::uint32_t events) {
  constexpr std::uint32_t kOver = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
  if ((events & (EPOLLIN | kOver)) != 0) readable_ = true;
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) writable_ = true;
  if ((events & kOver) != 0) hung_up_ = true;
}

bool Link::advance() {
  write_some();
  const bool more_input = read_some();
  const bool has_output =
      sending_ || !answers_.empty() || (!awaiting_answer_ && out_at_ < out_.size());
  return !ended_ && (more_input || (has_output && writable_));
}

bool Link::idle() const {
  return out_at_ == out_.size() && in_at_ == in_.size() && !sending_ && answers_.empty();
}

void Link::say_goodbye() const { ::shutdown(fd_.get(), SHUT_WR); }
void Link::close() const { ::shutdown(fd_.get(), SHUT_RDWR); }

// Returns false when there is nothing to write.
bool Link::choose_sending() {
  if (sending_) return true;
  if (!answers_.empty()) {
    sending_ = Sending{.head = answers_.front()};
    answers_.erase(answers_.begin());
    return true;
  }
  if (awaiting_answer_ || out_at_ == out_.size()) return false;
  Message& message = *out_[out_at_];
  const bool offers = message.bytes >= offer_from_ && message.parts.size() == 1 && peer_.readable();
  sending_ = Sending{.head = {.kind = offers ? Kind::offer : Kind::data,
                              .slot = message.slot,
                              .bytes = message.bytes},
                     .message = offers ? nullptr : &message};
  if (offers)
    sending_->head.address = reinterpret_cast<std::uintptr_t>(message.parts.front().iov_base);
  return true;
}

void Link::finish_sending() {
  if (sending_->message != nullptr) {
    sending_->message->done = true;
    ++out_at_;
  }
  awaiting_answer_ = awaiting_answer_ || sending_->head.kind == Kind::offer;
  sending_.reset();
}

void Link::write_some() {
  std::size_t moved = 0;
  while (!ended_ && writable_ && choose_sending()) {
    if (moved >= kTurn) return;
    Window window;
    const iovec head{&sending_->head, sizeof sending_->head};
    window.add({&head, 1}, sending_->at);
    const std::size_t of_head = sizeof sending_->head;
    const std::size_t all = of_head + (sending_->message ? sending_->message->bytes : 0);
    if (sending_->message != nullptr)
      window.add(sending_->message->parts, std::max(sending_->at, of_head) - of_head);
    msghdr vector{};
    vector.msg_iov = window.entries().data();
    vector.msg_iovlen = window.entries().size();
    const ssize_t sent = ::sendmsg(fd_.get(), &vector, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      errno == EAGAIN ? writable_ = false : ended_ = true;
      return;
    }
    moved += static_cast<std::size_t>(sent);
    sending_->at += static_cast<std::size_t>(sent);
    if (sending_->at == all) finish_sending();
  }
}

bool Link::read_some() {
  std::size_t moved = 0;
  while (!ended_ && wants_input()) {
    if (moved >= kTurn) return true;
    if (!head_ && !read_head()) return false;
    if (head_ && !accepted_ && !take_head()) return false;
    if (!accepted_) continue;
    const std::size_t before = got_;
    if (head_->kind == Kind::offer) {
      if (!read_offer()) return false;
    } else if (!read_data()) {
      return false;
    }
    moved += got_ - before;
    if (accepted_ && got_ == head_->bytes) finish_incoming();
  }
  return false;
}

// Reads into `into` as far as the kernel has bytes. Returns false when it has none now.
bool Link::fill(std::span<const iovec> into, std::size_t& got) {
  if (!readable_) return false;
  std::size_t room = 0;
  for (const iovec& part : into) room += part.iov_len;
  msghdr vector{};
  vector.msg_iov = const_cast<iovec*>(into.data());
  vector.msg_iovlen = into.size();
  const ssize_t received = ::recvmsg(fd_.get(), &vector, MSG_DONTWAIT);
  if (received < 0 && errno == EINTR) return fill(into, got);
  if (received <= 0) {
    received < 0 && errno == EAGAIN ? readable_ = false : ended_ = true;
    return false;
  }
  got = static_cast<std::size_t>(received);
  // The kernel had less than there was room for. More bytes are a new event; the end is not.
  if (got < room && !hung_up_) readable_ = false;
  return true;
}

// Copies what the buffer has. Returns the bytes.
std::size_t Link::take_buffered(std::span<const iovec> into) {
  std::size_t taken = 0;
  for (const iovec& part : into) {
    const std::size_t bytes = std::min(part.iov_len, buffered_to_ - buffered_from_);
    std::memcpy(part.iov_base, buffer_.data() + buffered_from_, bytes);
    buffered_from_ += bytes;
    taken += bytes;
  }
  return taken;
}

// Returns false when the whole head has not arrived.
bool Link::read_head() {
  while (buffered_to_ - buffered_from_ < sizeof(Head)) {
    std::copy(buffer_.data() + buffered_from_, buffer_.data() + buffered_to_, buffer_.data());
    buffered_to_ -= std::exchange(buffered_from_, 0);
    const iovec rest{buffer_.data() + buffered_to_, buffer_.size() - buffered_to_};
    std::size_t got = 0;
    if (!fill({&rest, 1}, got)) return false;
    buffered_to_ += got;
  }
  const iovec whole{&head_.emplace(), sizeof(Head)};
  static_cast<void>(take_buffered({&whole, 1}));
  return true;
}

// Acts on a head. Returns false when it begins another message than the one that is waited for. The
// order on a link is fixed, so this wait cannot end well: the hang guard tells how the ranks
// differ.
bool Link::take_head() {
  switch (head_->kind) {
    case Kind::data:
    case Kind::offer:
      if (in_at_ == in_.size() || in_[in_at_]->slot != head_->slot ||
          in_[in_at_]->bytes != head_->bytes) {
        ended_ = hung_up_;
        return false;
      }
      accepted_ = true;
      got_ = 0;
      return true;
    case Kind::taken:
    case Kind::refused:
      if (!awaiting_answer_ || out_at_ == out_.size()) break;
      awaiting_answer_ = false;
      if (head_->kind == Kind::taken) {
        out_[out_at_++]->done = true;
      } else {
        peer_ = {};
      }
      head_.reset();
      return true;
  }
  ended_ = true;  // the peer does not keep the protocol
  return false;
}

bool Link::read_data() {
  Window window;
  window.add(in_[in_at_]->parts, got_);
  std::size_t got = take_buffered(window.entries());
  if (got == 0) {
    const std::size_t wanted = window.bytes();
    std::array<iovec, kParts + 1> entries;
    auto end = std::ranges::copy(window.entries(), entries.begin()).out;
    buffered_from_ = buffered_to_ = 0;
    if (got_ + wanted == head_->bytes) *end++ = {buffer_.data(), buffer_.size()};
    if (!fill(std::span(entries.begin(), end), got)) return false;
    buffered_to_ = got - std::min(got, wanted);
    got = std::min(got, wanted);
  }
  got_ += got;
  return true;
}

bool Link::read_offer() {
  const std::size_t bytes = std::min<std::size_t>(head_->bytes - got_, kTurnOfOffer);
  Window window;
  window.add(in_[in_at_]->parts, got_, bytes);
  const iovec into = window.entries().front();
  switch (
      peer_.read(head_->address + got_, {static_cast<std::byte*>(into.iov_base), into.iov_len})) {
    case PeerMemory::Result::done:
      got_ += into.iov_len;
      return true;
    case PeerMemory::Result::impossible:
      answers_.push_back({.kind = Kind::refused, .slot = head_->slot});
      head_.reset();
      accepted_ = false;
      return true;
    case PeerMemory::Result::revoked:
      break;
  }
  ended_ = true;
  return false;
}

void Link::finish_incoming() {
  if (head_->kind == Kind::offer) answers_.push_back({.kind = Kind::taken, .slot = head_->slot});
  in_[in_at_++]->done = true;
  head_.reset();
  accepted_ = false;
}

}  // namespace ds::comm
