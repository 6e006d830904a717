// MeshGroup::Operation: posts messages, moves bytes, and names the peer at fault.
#include "engine/comm/mesh/operation.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "engine/base/error.h"

namespace ds::comm {
namespace {

// The slot contains a hash of the name and purpose of an operation, so the bytes of members that
// issue different operations never mix. Such members wait for each other until the hang guard tells
// them.
std::uint64_t slot_of(std::string_view name, std::string_view about, std::uint64_t number) {
  constexpr std::hash<std::string_view> hash_of;
  const std::uint64_t hash = (hash_of(name) * 31 + hash_of(about)) * 0x9e37'79b9'7f4a'7c15U;
  return (hash >> 32 << 32) | (number & 0xffff'ffff);
}

}  // namespace

MeshGroup::Operation::Operation(MeshGroup& group, std::string_view name, Deadline deadline,
                                std::uint64_t bytes)
    : group_(group), name_(name), countdown_(deadline, begun_) {
  if (group_.failed_) fail("the group had already failed");
  if (const std::string why = group_.stopped(); !why.empty()) fail(why);
  slot_ = slot_of(name_, group_.about_, group_.calls_ + 1);
  group_.log_.begin(++group_.calls_, name_, group_.about_, bytes);
}

MeshGroup::Operation::~Operation() {
  group_.log_.end();
  for (const Message& message : group_.messages_) group_.link(message.peer).forget();
  group_.messages_.clear();
  for (const int peer : group_.runnable_)
    group_.is_runnable_[static_cast<std::size_t>(peer)] = false;
  group_.runnable_.clear();
}

void MeshGroup::Operation::receive(int from, std::span<std::byte> into) { post(from, false, into); }

// A message that is sent is only read.
void MeshGroup::Operation::send(int to, std::span<const std::byte> data) {
  post(to, true, {const_cast<std::byte*>(data.data()), data.size()});
}

void MeshGroup::Operation::post(int peer, bool outgoing, std::span<std::byte> data) {
  if (data.empty()) return;
  DS_ASSERT(group_.messages_.size() < group_.messages_.capacity());
  Message& message = group_.messages_.emplace_back(
      Message{.peer = peer, .outgoing = outgoing, .slot = slot_, .data = data});
  (outgoing ? sent_ : received_) += data.size();
  Link& link = group_.link(peer);
  busy_ += link.idle() ? 1 : 0;
  link.post(message);
  set_runnable(peer);
}

void MeshGroup::Operation::finish() {
  if (group_.wire_ && sent_ > 0) group_.wire_->carry(std::max(sent_, received_));
  drive([this] { return busy_ == 0; });
}

void MeshGroup::Operation::finish_newest() {
  if (group_.messages_.empty()) return;
  const Message& message = group_.messages_.back();
  drive([&] { return message.done; });
}

void MeshGroup::Operation::drive(const std::function<bool()>& is_done) {
  while (true) {
    if (const std::string why = group_.stopped(); !why.empty()) fail(why);
    move();
    if (is_done()) return;
    const Clock::time_point now = Clock::now();
    if (countdown_.passed(now)) fail_of_lateness();
    if (group_.runnable_.empty()) wait(countdown_.for_poll(now));
  }
}

// Gives every link that can move bytes one turn.
void MeshGroup::Operation::move() {
  const auto links = std::ssize(group_.runnable_);
  for (std::ptrdiff_t i = 0; i < links; ++i) {
    const int peer = group_.runnable_[static_cast<std::size_t>(i)];
    group_.is_runnable_[static_cast<std::size_t>(peer)] = false;
    Link& link = group_.link(peer);
    if (link.idle()) continue;
    group_.log_.count_traffic();
    if (link.advance()) set_runnable(peer);
    if (link.ended() && group_.first_ended_ < 0) group_.first_ended_ = peer;
    // A peer whose connection ended is at fault only if this operation still needs it: a peer that
    // has done its part may leave.
    if (link.idle()) {
      --busy_;
    } else if (link.ended()) {
      fail_of_peer(peer);
    }
  }
  group_.runnable_.erase(group_.runnable_.begin(), group_.runnable_.begin() + links);
}

// Waits for the kernel to report a link, or for MeshGroup::stop().
void MeshGroup::Operation::wait(int milliseconds) {
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(group_.poll_.get(), events.data(), static_cast<int>(events.size()),
                                 milliseconds);
  if (count < 0 && errno != EINTR) throw_errno("epoll_wait", errno);
  for (int i = 0; i < count; ++i) {
    const auto peer = static_cast<int>(events[static_cast<std::size_t>(i)].data.u32);
    if (peer == group_.rank_) continue;  // stopped() says why
    group_.link(peer).note(events[static_cast<std::size_t>(i)].events);
    set_runnable(peer);
  }
}

void MeshGroup::Operation::set_runnable(int peer) {
  const auto flag = group_.is_runnable_.begin() + peer;
  if (*flag) return;
  *flag = true;
  group_.runnable_.push_back(peer);
}

void MeshGroup::Operation::fail_of_lateness() {
  const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  fail(fmt::format("no answer from {} after {:.3g} s", missing_peers(), seconds));
}

// The first connection that ended is the likely cause of the others' end.
void MeshGroup::Operation::fail_of_peer(int peer) {
  if (const std::string why = group_.stopped(); !why.empty()) fail(why);
  const int culprit = group_.first_ended_ >= 0 ? group_.first_ended_ : peer;
  const std::string other = group_.guard_ ? group_.guard_->suspicion() : "";
  fail(fmt::format("{} closed the connection{}{}", group_.name_of(culprit),
                   other.empty() ? "" : "; ", other));
}

// Returns the peers that are waited for. Ranks that sent nothing are the cause. Ranks that did not
// receive are named only when everything arrived.
std::string MeshGroup::Operation::missing_peers() const {
  std::vector<int> missing;
  for (const bool outgoing : {false, true}) {
    for (const Message& message : group_.messages_) {
      if (message.outgoing != outgoing || message.done) continue;
      if (std::ranges::find(missing, message.peer) == missing.end())
        missing.push_back(message.peer);
    }
    if (!missing.empty()) break;
  }
  std::string names = missing.empty() ? "any rank" : "";
  for (const int peer : missing) names += (names.empty() ? "" : ", ") + group_.name_of(peer);
  return names;
}

std::string MeshGroup::Operation::message_of(std::string_view what) const {
  return fmt::format("{} (of group {}): {}{}{}: {}", group_.name_of(group_.rank_),
                     group_.spec_.name, name_, group_.about_.empty() ? "" : " ", group_.about_,
                     what);
}

// Reports before the links end, so that the others do not blame this rank for the end. Memory that
// others still read is taken back before the caller may use it again.
void MeshGroup::Operation::fail(std::string_view what) {
  std::string message = message_of(what);
  if (!group_.failed_) {
    group_.failed_ = true;
    const std::string first = group_.report_fault(message);
    if (first != message) message += fmt::format("; the first report was: {}", first);
    group_.log_.fail(message);
  }
  if (group_.memory_) group_.memory_->revoke();
  group_.close_links();
  throw Error(ErrorKind::comm, message);
}

}  // namespace ds::comm
