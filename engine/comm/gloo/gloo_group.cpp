// The collectives of GlooGroup as messages between peers.
#include "engine/comm/gloo/gloo_group.h"

#include <cstring>
#include <utility>

#include "engine/base/error.h"
#include "engine/comm/gloo/operation.h"

namespace ds::comm {
namespace {

// The root sends a broadcast shorter than this straight to every member.
constexpr std::size_t kScatterFrom = std::size_t{1} << 20;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x9e37'79b9'7f4a'7c15U + (hash >> 29);
}

}  // namespace

GlooGroup::GlooGroup(Parts parts)
    : spec_(std::move(parts.spec)),
      rank_(parts.rank),
      watchdog_(std::move(parts.watchdog)),
      store_(std::move(parts.store)),
      guard_(std::move(parts.guard)),
      mesh_(std::move(parts.mesh)),
      chunk_bytes_(parts.chunk_bytes) {
  news_.ended.resize(spec_.ranks.size());
  marks_.resize(spec_.ranks.size());
  messages_.reserve(4 * spec_.ranks.size());
  waiting_.reserve(4 * spec_.ranks.size());
  sent_.resize(spec_.ranks.size());
  received_.resize(spec_.ranks.size());
  context_ = std::make_shared<LinkContext>(
      std::move(parts.device), rank_, std::move(parts.links),
      [this](int peer) { on_link_ended(peer); }, traffic_);
  if (guard_)
    guard_->add({.group = mesh_, .ranks = &spec_.ranks, .log = &log_, .traffic = &traffic_});
}

GlooGroup::~GlooGroup() {
  if (guard_) guard_->remove(&log_);
  {
    const std::lock_guard lock(mutex_);
    news_.closing = true;
  }
  context_->say_goodbye();
}

void GlooGroup::about(std::string_view path) {
  about_ = path;
  about_mark_ = mark_of(std::hash<std::string_view>()(path));
}

void GlooGroup::all_to_all(SendPieces send, ReceivePieces receive, Deadline deadline) {
  DS_ASSERT(std::ssize(send) == size() && std::ssize(receive) == size());
  const std::span<const std::byte> own_from = send[static_cast<std::size_t>(rank_)];
  const std::span<std::byte> own = receive[static_cast<std::size_t>(rank_)];
  DS_ASSERT(own.size() == own_from.size());
  Operation operation(*this, "all_to_all", deadline);
  const std::uint64_t slot = next_slot(Kind::all_to_all);
  // Each rank begins with its right neighbor, so that not all ranks send to the same one at once.
  for (int step = 1; step < size(); ++step) {
    const auto from = static_cast<std::size_t>((rank_ + size() - step) % size());
    operation.receive(static_cast<int>(from), receive[from], slot);
  }
  for (int step = 1; step < size(); ++step) {
    const auto to = static_cast<std::size_t>((rank_ + step) % size());
    operation.send(static_cast<int>(to), send[to], slot);
  }
  if (!own.empty() && own.data() != own_from.data())
    std::memcpy(own.data(), own_from.data(), own.size());
  operation.finish();
}

void GlooGroup::all_gather(ReceivePieces pieces, Deadline deadline) {
  DS_ASSERT(std::ssize(pieces) == size());
  std::uint64_t sizes = 0;
  for (const std::span<std::byte> piece : pieces) sizes = mixed(sizes, piece.size());
  Operation operation(*this, "all_gather", deadline, sizes);
  const std::uint64_t slot = next_slot(Kind::all_gather);
  const std::span<const std::byte> own = pieces[static_cast<std::size_t>(rank_)];
  for (int step = 1; step < size(); ++step) {
    const auto from = static_cast<std::size_t>((rank_ + size() - step) % size());
    operation.receive(static_cast<int>(from), pieces[from], slot);
  }
  for (int step = 1; step < size(); ++step) operation.send((rank_ + step) % size(), own, slot);
  operation.finish();
}

// A long broadcast is cut: the root sends each member its part, then all members send their parts
// to all. The root sends the data twice instead of once per member.
void GlooGroup::broadcast(std::span<std::byte> data, int root, Deadline deadline) {
  DS_ASSERT(root >= 0 && root < size());
  Operation operation(*this, "broadcast", deadline, data.size());
  const std::uint64_t slot = next_slot(Kind::broadcast);
  if (data.size() < kScatterFrom || size() == 2) {
    if (rank_ != root) operation.receive(root, data, slot);
    for (int step = 1; step < size() && rank_ == root; ++step)
      operation.send((rank_ + step) % size(), data, slot);
    return operation.finish();
  }
  const auto part = [&](int index) {
    const auto count = static_cast<std::size_t>(size());
    const auto i = static_cast<std::size_t>(index);
    const std::size_t first = data.size() / count * i;
    return data.subspan(first, i + 1 == count ? data.size() - first : data.size() / count);
  };
  const std::uint64_t scatter = next_slot(Kind::scatter);
  if (rank_ != root) operation.receive(root, part(rank_), scatter);
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != rank_ && rank_ == root) operation.send(peer, part(peer), scatter);
    if (peer != rank_ && rank_ != root) operation.receive(peer, part(peer), slot);
  }
  if (rank_ != root) operation.finish_first();
  for (int step = 1; step < size(); ++step) {
    const int peer = (rank_ + step) % size();
    if (peer != root) operation.send(peer, part(rank_), slot);
  }
  operation.finish();
}

void GlooGroup::send(std::span<const std::byte> data, int to, Deadline deadline) {
  DS_ASSERT(to >= 0 && to < size() && to != rank_);
  Operation operation(*this, "send", deadline, std::nullopt);
  const std::uint64_t number = ++sent_[static_cast<std::size_t>(to)];
  operation.send(to, data, message_slot(Kind::point_to_point, number));
  operation.finish();
}

void GlooGroup::receive(std::span<std::byte> data, int from, Deadline deadline) {
  DS_ASSERT(from >= 0 && from < size() && from != rank_);
  Operation operation(*this, "receive", deadline, std::nullopt);
  const std::uint64_t number = ++received_[static_cast<std::size_t>(from)];
  operation.receive(from, data, message_slot(Kind::point_to_point, number));
  operation.finish();
}

void GlooGroup::barrier(Deadline deadline) {
  Operation operation(*this, "barrier", deadline);
  const std::uint64_t slot = next_slot(Kind::barrier);
  const std::span<std::byte> all(marks_);
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != rank_)
      operation.receive(peer, all.subspan(static_cast<std::size_t>(peer), 1), slot);
  }
  for (int step = 1; step < size(); ++step) {
    operation.send((rank_ + step) % size(), all.subspan(static_cast<std::size_t>(rank_), 1), slot);
  }
  operation.finish();
}

void GlooGroup::abort() {
  {
    const std::lock_guard lock(mutex_);
    news_.aborted = true;
    wake_waiting();
  }
  context_->close_all();
}

void GlooGroup::on_link_ended(int peer) {
  const std::lock_guard lock(mutex_);
  if (news_.closing) return;
  news_.ended[static_cast<std::size_t>(peer)] = true;
  if (news_.first_ended < 0) news_.first_ended = peer;
  wake_waiting();
}

void GlooGroup::on_late() {
  const std::lock_guard lock(mutex_);
  news_.late = true;
  wake_waiting();
}

void GlooGroup::on_hopeless(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (news_.hopeless.empty()) news_.hopeless = reason;
  wake_waiting();
}

// Lateness belongs to one operation.
void GlooGroup::forget_lateness() {
  const std::lock_guard lock(mutex_);
  news_.late = false;
}

void GlooGroup::wake_waiting() {
  for (::gloo::transport::UnboundBuffer* buffer : waiting_) {
    buffer->abortWaitRecv();
    buffer->abortWaitSend();
  }
}

GlooGroup::News GlooGroup::news() {
  const std::lock_guard lock(mutex_);
  return news_;
}

bool GlooGroup::has_news() {
  const std::lock_guard lock(mutex_);
  return news_.aborted || news_.late || !news_.hopeless.empty() || news_.first_ended >= 0;
}

bool GlooGroup::is_aborted() {
  const std::lock_guard lock(mutex_);
  return news_.aborted;
}

// A member that gives up closes its links, and the others see that before their own wait ends.
// Without this report they would blame the member that gave up first. Best effort: the store itself
// may be lost.
std::string GlooGroup::report_fault(const std::string& what) {
  if (!store_) return what;
  try {
    return store_->set_new(mesh_ + "/fault", what, Deadline::after(std::chrono::seconds(1)));
  } catch (const Error&) {
    return what;
  }
}

// The slot contains the kind and the purpose of an operation, so the bytes of members that issue
// different operations never mix. Such members wait for each other until the hang guard tells them.
std::uint64_t GlooGroup::next_slot(Kind kind) {
  return message_slot(kind, about_mark_ | (++sequence_ & 0xffff'ffff));
}

std::string GlooGroup::name_of(int group_rank) const {
  return fmt::format("rank {}", spec_.ranks[static_cast<std::size_t>(group_rank)]);
}

}  // namespace ds::comm
