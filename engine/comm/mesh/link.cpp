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

// Returns the bytes after the first `skip`, at most `limit` of them.
iovec rest_of(std::span<const std::byte> bytes, std::size_t skip, std::size_t limit = kTurn) {
  const auto rest = bytes.subspan(std::min(skip, bytes.size()));
  return {const_cast<std::byte*>(rest.data()), std::min(rest.size(), limit)};
}

}  // namespace

Link::Link(UniqueFd fd, PeerMemory peer, std::size_t offer_from)
    : fd_(std::move(fd)), peer_(std::move(peer)), offer_from_(offer_from) {
  for (auto* list : {&out_, &in_}) list->reserve(4);
  answers_.reserve(4);
}

void Link::send(std::uint64_t slot, std::span<const std::byte> data) {
  if (!data.empty()) out_.push_back({slot, data});
  can_move_ = true;
}

void Link::receive(std::uint64_t slot, std::span<std::byte> into) {
  if (!into.empty()) in_.push_back({slot, into});
  can_move_ = true;
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
  can_move_ = true;
}

void Link::advance() {
  write_some();
  const bool more_input = read_some();
  const bool has_output =
      sending_ || !answers_.empty() || (!awaiting_answer_ && out_at_ < out_.size());
  can_move_ = !ended_ && (more_input || (has_output && writable_));
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
  const Message& message = out_[out_at_];
  Sending sending{.head = {.slot = message.slot, .bytes = message.data.size()},
                  .data = message.data};
  if (message.data.size() >= offer_from_ && peer_.readable()) {
    sending.head.kind = Kind::offer;
    sending.head.address = reinterpret_cast<std::uintptr_t>(message.data.data());
    sending.data = {};
  }
  sending_ = sending;
  return true;
}

void Link::finish_sending() {
  if (sending_->head.kind == Kind::data) ++out_at_;
  awaiting_answer_ = awaiting_answer_ || sending_->head.kind == Kind::offer;
  sending_.reset();
}

void Link::write_some() {
  std::size_t moved = 0;
  while (!ended_ && writable_ && choose_sending()) {
    if (moved >= kTurn) return;
    const auto head = std::as_bytes(std::span(&sending_->head, 1));
    const std::size_t past_head = std::max(sending_->at, head.size()) - head.size();
    std::array<iovec, 2> parts{rest_of(head, sending_->at), rest_of(sending_->data, past_head)};
    msghdr vector{};
    vector.msg_iov = parts.data();
    vector.msg_iovlen = parts.size();
    const ssize_t sent = ::sendmsg(fd_.get(), &vector, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      errno == EAGAIN ? writable_ = false : ended_ = true;
      return;
    }
    moved += static_cast<std::size_t>(sent);
    sending_->at += static_cast<std::size_t>(sent);
    if (sending_->at == head.size() + sending_->data.size()) finish_sending();
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

std::size_t Link::read_into(iovec first, iovec second) {
  std::array<iovec, 2> parts{first, second};
  msghdr vector{};
  vector.msg_iov = parts.data();
  vector.msg_iovlen = parts.size();
  while (readable_ && !ended_) {
    const ssize_t received = ::recvmsg(fd_.get(), &vector, MSG_DONTWAIT);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) {
      received < 0 && errno == EAGAIN ? readable_ = false : ended_ = true;
      return 0;
    }
    const auto got = static_cast<std::size_t>(received);
    // The kernel had less than there was room for. More bytes are a new event; the end is not.
    if (got < first.iov_len + second.iov_len && !hung_up_) readable_ = false;
    return got;
  }
  return 0;
}

// Copies what the buffer has. Returns the bytes.
std::size_t Link::take_buffered(iovec into) {
  const std::size_t bytes = std::min(into.iov_len, buffered_to_ - buffered_from_);
  std::memcpy(into.iov_base, buffer_.data() + buffered_from_, bytes);
  buffered_from_ += bytes;
  return bytes;
}

// Returns false when the whole head has not arrived.
bool Link::read_head() {
  while (buffered_to_ - buffered_from_ < sizeof(Head)) {
    std::copy(buffer_.data() + buffered_from_, buffer_.data() + buffered_to_, buffer_.data());
    buffered_to_ -= std::exchange(buffered_from_, 0);
    const std::size_t got =
        read_into({buffer_.data() + buffered_to_, buffer_.size() - buffered_to_}, {});
    if (got == 0) return false;
    buffered_to_ += got;
  }
  take_buffered({&head_.emplace(), sizeof(Head)});
  return true;
}

// Acts on a head. Returns false when it begins another message than the one that is waited for. The
// order on a link is fixed, so this wait cannot end well: the hang guard tells how the ranks
// differ.
bool Link::take_head() {
  switch (head_->kind) {
    case Kind::data:
    case Kind::offer:
      if (!is_receiving() || in_[in_at_].slot != head_->slot ||
          in_[in_at_].data.size() != head_->bytes) {
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
        ++out_at_;
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
  const iovec into = rest_of(in_[in_at_].data, got_);
  std::size_t got = take_buffered(into);
  if (got == 0) {
    const bool is_rest = got_ + into.iov_len == head_->bytes;
    buffered_from_ = buffered_to_ = 0;
    got = read_into(into, {buffer_.data(), is_rest ? buffer_.size() : 0});
    if (got == 0) return false;
    buffered_to_ = got - std::min(got, into.iov_len);
    got = std::min(got, into.iov_len);
  }
  got_ += got;
  return true;
}

bool Link::read_offer() {
  const iovec into = rest_of(in_[in_at_].data, got_, kTurnOfOffer);
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
  ++in_at_;
  head_.reset();
  accepted_ = false;
}

}  // namespace ds::comm
