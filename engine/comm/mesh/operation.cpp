// One operation of a MeshGroup: moves the bytes of its messages, and names the peer at fault.
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "engine/base/error.h"
#include "engine/comm/mesh/mesh_group.h"

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
    : log_(group.log_) {
  group.name_ = name;
  group.begun_ = Clock::now();
  group.countdown_ = Countdown(deadline, group.begun_);
  if (group.failed_) group.fail("the group had already failed");
  if (const std::string why = group.stopped(); !why.empty()) group.fail(why);
  for (const auto& link : group.links_)
    if (link) link->forget();
  group.slot_ = slot_of(name, group.about_, ++group.calls_);
  log_.begin(group.calls_, name, group.about_, bytes);
}

void MeshGroup::send(int peer, std::span<const std::byte> data) {
  sent_ += data.size();
  link(peer).send(slot_, data);
}

void MeshGroup::receive(int peer, std::span<std::byte> into) {
  received_ += into.size();
  link(peer).receive(slot_, into);
}

void MeshGroup::finish() {
  if (wire_ && sent_ > 0) wire_->carry(std::max(sent_, received_));
  sent_ = received_ = 0;
  while (true) {
    if (const std::string why = stopped(); !why.empty()) fail(why);
    bool is_busy = false, can_move = false;  // can_move: without a new event
    for (int step = 1; step < size(); ++step) {
      give_turn(neighbor(step));
      const Link& peer = link(neighbor(step));
      is_busy = is_busy || !peer.idle();
      can_move = can_move || (!peer.idle() && peer.can_move());
    }
    if (!is_busy) return;
    const Clock::time_point now = Clock::now();
    if (countdown_.passed(now)) fail_of_lateness();
    if (!can_move) wait(countdown_.for_poll(now));
  }
}

// A peer whose connection ended is at fault only if this operation still needs it: a peer that has
// done its part may leave.
void MeshGroup::give_turn(int peer) {
  Link& from = link(peer);
  if (from.idle() || !from.can_move()) return;
  log_.count_traffic();
  from.advance();
  if (from.ended() && first_ended_ < 0) first_ended_ = peer;
  if (from.ended() && !from.idle()) fail_of_peer(peer);
}

// Waits for the kernel to report links, or for stop(). The links take turns in the order of their
// events: the first connection that ended is the likely cause of the others' end.
void MeshGroup::wait(int milliseconds) {
  std::array<epoll_event, 64> events;
  const int count =
      ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), milliseconds);
  if (count < 0 && errno != EINTR) throw_errno("epoll_wait", errno);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const auto peer = static_cast<int>(event.data.u32);
    if (peer == rank_) continue;  // stopped() says why
    link(peer).note(event.events);
    give_turn(peer);
  }
}

// Names the peers that are waited for. Ranks that sent nothing are the cause. Ranks that did not
// receive are named only when everything arrived.
void MeshGroup::fail_of_lateness() {
  std::string sending, others;
  for (int step = 1; step < size(); ++step) {
    const int peer = neighbor(-step);
    if (link(peer).idle()) continue;
    std::string& names = link(peer).is_receiving() ? sending : others;
    names += (names.empty() ? "" : ", ") + name_of(peer);
  }
  fail(fmt::format("no answer from {} after {:.3g} s", sending.empty() ? others : sending,
                   seconds_of(Clock::now() - begun_)));
}

void MeshGroup::fail_of_peer(int peer) {
  if (const std::string why = stopped(); !why.empty()) fail(why);
  const int culprit = first_ended_ >= 0 ? first_ended_ : peer;
  const std::string other = guard_ ? guard_->suspicion() : "";
  fail(fmt::format("{} closed the connection{}{}", name_of(culprit), other.empty() ? "" : "; ",
                   other));
}

// Reports before the links end, so that the others do not blame this rank for the end. Memory that
// others still read is taken back before the caller may use it again.
void MeshGroup::fail(std::string_view what) {
  std::string message = fmt::format("{} (of group {}): {}{}{}: {}", name_of(rank_), spec_.name,
                                    name_, about_.empty() ? "" : " ", about_, what);
  if (!failed_) {
    failed_ = true;
    const std::string first = report_fault(message);
    if (first != message) message += fmt::format("; the first report was: {}", first);
    log_.fail(message);
  }
  if (memory_) memory_->revoke();
  close_links();
  throw Error(ErrorKind::comm, message);
}

// A member that gives up closes its links, and the others see that before their own wait ends.
// Without this report they would blame the member that gave up first. Best effort: rank 0 itself
// may be lost.
std::string MeshGroup::report_fault(const std::string& what) {
  if (!coordinator_) return what;
  try {
    return coordinator_->report_fault(mesh_, what, Deadline::after(std::chrono::seconds(1)));
  } catch (const Error&) {
    return what;
  }
}

}  // namespace ds::comm
