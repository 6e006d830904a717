// The collectives of MeshGroup as messages between peers.
#include "engine/comm/mesh/mesh_group.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/error.h"
#include "engine/comm/mesh/combine_tree.h"

namespace ds::comm {
namespace {

// Up to this size every member sends its value straight to every other, so that an error names the
// rank that is at fault. Larger groups use a tree, because the number of messages counts.
constexpr int kStraightUpTo = 8;
constexpr std::size_t kLongestValue = std::size_t{1} << 20;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x9e37'79b9'7f4a'7c15U + (hash >> 29);
}

}  // namespace

MeshGroup::MeshGroup(Parts parts)
    : spec_(std::move(parts.spec)),
      rank_(parts.rank),
      memory_(std::move(parts.memory)),
      coordinator_(std::move(parts.coordinator)),
      guard_(std::move(parts.guard)),
      mesh_(std::move(parts.mesh)),
      poll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      wire_(std::move(parts.wire)),
      log_(guard_, mesh_, {.give_up = [this](const std::string& reason) { stop(reason); }}) {
  if (!poll_ || !wake_) throw_errno("epoll_create1 or eventfd", errno);
  const std::size_t count = spec_.ranks.size();
  parts.memories.resize(count);
  watch(wake_.get(), rank_);
  for (std::size_t peer = 0; peer < count; ++peer) {
    links_.push_back(nullptr);
    if (!parts.links[peer]) continue;
    links_.back() = std::make_unique<Link>(std::move(parts.links[peer]),
                                           std::move(parts.memories[peer]), parts.offer_from);
    watch(links_.back()->descriptor(), static_cast<int>(peer));
  }
}

// Says goodbye on every link before the first one is closed: otherwise the last peer would learn of
// the end from the first peer and blame that one.
MeshGroup::~MeshGroup() {
  for (const auto& link : links_)
    if (link) link->say_goodbye();
}

// The peer's number comes back with every event; this rank's own number is that of wake_.
void MeshGroup::watch(int descriptor, int peer) const {
  epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data = {}};
  event.data.u32 = static_cast<std::uint32_t>(peer);
  if (::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
    throw_errno("epoll_ctl", errno);
}

void MeshGroup::all_to_all(SendPieces from, ReceivePieces into, Deadline deadline) {
  DS_ASSERT(std::ssize(from) == size() && std::ssize(into) == size());
  const std::span<const std::byte> own_from = from[static_cast<std::size_t>(rank_)];
  const std::span<std::byte> own = into[static_cast<std::size_t>(rank_)];
  DS_ASSERT(own.size() == own_from.size());
  const Operation operation(*this, "all_to_all", deadline);
  // Each rank begins with its right neighbor, so that not all ranks send to the same one at once.
  for (int step = 1; step < size(); ++step)
    receive(neighbor(-step), into[static_cast<std::size_t>(neighbor(-step))]);
  for (int step = 1; step < size(); ++step)
    send(neighbor(step), from[static_cast<std::size_t>(neighbor(step))]);
  if (!own.empty() && own.data() != own_from.data())
    std::memcpy(own.data(), own_from.data(), own.size());
  finish();
}

void MeshGroup::all_gather(ReceivePieces pieces, Deadline deadline) {
  DS_ASSERT(std::ssize(pieces) == size());
  std::uint64_t sizes = 0;
  for (const std::span<std::byte> piece : pieces) sizes = mixed(sizes, piece.size());
  const Operation operation(*this, "all_gather", deadline, sizes);
  const std::span<const std::byte> own = pieces[static_cast<std::size_t>(rank_)];
  for (int step = 1; step < size(); ++step)
    receive(neighbor(-step), pieces[static_cast<std::size_t>(neighbor(-step))]);
  for (int step = 1; step < size(); ++step) send(neighbor(step), own);
  finish();
}

void MeshGroup::combine(std::span<std::byte> value, Join join, Deadline deadline) {
  const Operation operation(*this, "combine", deadline, value.size());
  size() <= kStraightUpTo ? exchange(value, join) : climb(value, join);
}

void MeshGroup::barrier(Deadline deadline) {
  const Operation operation(*this, "barrier", deadline);
  std::byte mark{};
  const auto join = [](auto, auto) {};
  size() <= kStraightUpTo ? exchange({&mark, 1}, join) : climb({&mark, 1}, join);
}

// Every member sends its value to all others and joins all values.
void MeshGroup::exchange(std::span<std::byte> value, Join join) {
  DS_ASSERT(value.size() <= kLongestValue, "short values are combined");
  values_.resize(std::max(values_.size(), value.size() * spec_.ranks.size()));
  const auto value_of = [&](int rank) {
    return std::span(values_).subspan(static_cast<std::size_t>(rank) * value.size(), value.size());
  };
  std::memcpy(value_of(rank_).data(), value.data(), value.size());
  for (int step = 1; step < size(); ++step) receive(neighbor(-step), value_of(neighbor(-step)));
  for (int step = 1; step < size(); ++step) send(neighbor(step), value_of(rank_));
  finish();
  std::memcpy(value.data(), value_of(0).data(), value.size());
  for (int rank = 1; rank < size(); ++rank) join(value, value_of(rank));
}

// Values go up the tree to the first rank, and the result comes down.
void MeshGroup::climb(std::span<std::byte> value, Join join) {
  values_.resize(std::max(values_.size(), value.size()));
  const std::span<std::byte> other = std::span(values_).first(value.size());
  const int width = width_at(rank_, size());
  for (int child = 1; child < width && rank_ + child < size(); child *= 2) {
    receive(rank_ + child, other);
    finish();
    join(value, other);
  }
  if (rank_ != 0) {
    send(parent_of(rank_), value);
    receive(parent_of(rank_), value);
    finish();
  }
  for (int child = width / 2; child > 0; child /= 2)
    if (rank_ + child < size()) send(rank_ + child, value);
  finish();
}

void MeshGroup::abort() {
  stop("the group was aborted");
  close_links();
}

void MeshGroup::stop(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (stopped_.empty()) stopped_ = why;
  is_stopped_ = true;
  const std::uint64_t one = 1;
  DS_ASSERT(::write(wake_.get(), &one, sizeof one) == sizeof one);
}

std::string MeshGroup::stopped() {
  if (!is_stopped_) return {};
  const std::lock_guard lock(mutex_);
  return stopped_;
}

void MeshGroup::close_links() {
  for (const auto& link : links_)
    if (link) link->say_goodbye();
  for (const auto& link : links_)
    if (link) link->close();
}

std::string MeshGroup::name_of(int group_rank) const {
  return fmt::format("rank {}", spec_.ranks[static_cast<std::size_t>(group_rank)]);
}

}  // namespace ds::comm
