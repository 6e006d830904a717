// Collectives among threads of one process, over shared memory: for tests that need ranks but no
// wire.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/comm/collectives.h"

namespace ds::test {

/// What the members of one group share: who has lent which bytes to the operation under way.
class ThreadMeeting {
 public:
  explicit ThreadMeeting(GroupSpec spec) : spec_(std::move(spec)), at_(spec_.ranks.size()) {}
  const GroupSpec& spec() const { return spec_; }

  struct Loan {
    std::span<const std::byte> data;
    std::span<const std::size_t> sizes;
  };
  /// Everyone lends, everyone copies what it needs by `copy(loans)`, everyone leaves. Throws
  /// Error{comm}.
  template <class Copy>
  void exchange(int rank, const char* name, Loan loan, Deadline deadline, const Copy& copy) {
    const auto me = static_cast<std::size_t>(rank);
    std::unique_lock lock(mutex_);
    loans_.resize(at_.size());
    loans_[me] = loan;
    arrive(lock, rank, name, deadline);
    lock.unlock();
    copy(std::as_const(loans_));
    lock.lock();
    arrive(lock, rank, name, deadline);
  }

  void send(int from, int to, std::span<const std::byte> data, Deadline deadline) {
    std::unique_lock lock(mutex_);
    auto& slot = mail_[{from, to}];
    slot.emplace_back(data.begin(), data.end());
    changed_.notify_all();
    // As on a wire with no buffers: sent means received.
    wait(
        lock, from, "send", deadline, [&] { return slot.empty(); },
        [&] { return std::vector<int>{to}; });
  }
  void receive(int from, int to, std::span<std::byte> data, Deadline deadline) {
    std::unique_lock lock(mutex_);
    auto& slot = mail_[{from, to}];
    wait(
        lock, to, "receive", deadline, [&] { return !slot.empty(); },
        [&] { return std::vector<int>{from}; });
    DS_ASSERT(slot.front().size() == data.size());
    std::copy(slot.front().begin(), slot.front().end(), data.begin());
    slot.erase(slot.begin());
    changed_.notify_all();
  }
  void abort() {
    const std::lock_guard lock(mutex_);
    if (broken_.empty()) broken_ = "the group was aborted";
    changed_.notify_all();
  }
  void leave(int rank) {
    const std::lock_guard lock(mutex_);
    left_ = left_ < 0 ? rank : left_;
    changed_.notify_all();
  }

 private:
  void arrive(std::unique_lock<std::mutex>& lock, int rank, const char* name, Deadline deadline) {
    const std::size_t round = ++at_[static_cast<std::size_t>(rank)];
    changed_.notify_all();
    const auto missing = [&] {
      std::vector<int> ranks;
      for (std::size_t i = 0; i < at_.size(); ++i) {
        if (at_[i] < round) ranks.push_back(static_cast<int>(i));
      }
      return ranks;
    };
    wait(
        lock, rank, name, deadline, [&] { return missing().empty(); }, missing);
  }

  template <class Done, class Missing>
  void wait(std::unique_lock<std::mutex>& lock, int rank, const char* name, Deadline deadline,
            const Done& done, const Missing& missing) {
    const auto begun = Clock::now();
    const auto is_lost = [&] {
      const std::vector<int> ranks = missing();
      return left_ >= 0 && std::find(ranks.begin(), ranks.end(), left_) != ranks.end();
    };
    const auto fail = [&](const std::string& what) {
      if (broken_.empty()) broken_ = "the group failed before";
      changed_.notify_all();
      throw Error(ErrorKind::comm,
                  fmt::format("{} (of group {}): {}: {}", name_of(rank), spec_.name, name, what));
    };
    const bool over = changed_.wait_until(lock, deadline.at(),
                                          [&] { return done() || is_lost() || !broken_.empty(); });
    if (done()) return;  // also when others have failed since
    if (!broken_.empty()) fail(std::string(broken_));
    if (over) fail(fmt::format("{} closed the connection", name_of(left_)));
    std::string names;
    for (const int who : missing()) names += (names.empty() ? "" : ", ") + name_of(who);
    fail(fmt::format("no answer from {} after {:.3g} s", names,
                     std::chrono::duration<double>(Clock::now() - begun).count()));
  }
  std::string name_of(int rank) const {
    return fmt::format("rank {}", spec_.ranks[static_cast<std::size_t>(rank)]);
  }

  const GroupSpec spec_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> at_;  // how many meeting points each member has reached
  std::vector<Loan> loans_;
  std::map<std::pair<int, int>, std::vector<std::vector<std::byte>>> mail_;
  std::string broken_;
  int left_ = -1;
};

class ThreadGroup final : public Group {
 public:
  ThreadGroup(std::shared_ptr<ThreadMeeting> meeting, int rank)
      : meeting_(std::move(meeting)), rank_(rank) {}
  ~ThreadGroup() override { meeting_->leave(rank_); }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(spec().ranks.size()); }
  const GroupSpec& spec() const override { return meeting_->spec(); }

  void all_to_all(std::span<const std::byte> send, std::span<const std::size_t> send_bytes,
                  std::span<std::byte> receive, std::span<const std::size_t> receive_bytes,
                  Deadline deadline) override {
    const auto me = static_cast<std::size_t>(rank_);
    meeting_->exchange(rank_, "all_to_all", {send, send_bytes}, deadline, [&](const auto& loans) {
      std::byte* to = receive.data();
      for (std::size_t from = 0; from < loans.size(); ++from) {
        const std::byte* piece = loans[from].data.data();
        for (std::size_t i = 0; i < me; ++i) piece += loans[from].sizes[i];
        DS_ASSERT(loans[from].sizes[me] == receive_bytes[from]);
        if (to != piece && receive_bytes[from] > 0) std::memcpy(to, piece, receive_bytes[from]);
        to += receive_bytes[from];
      }
    });
  }
  void all_gather(std::span<std::byte> all, std::span<const std::size_t> bytes,
                  Deadline deadline) override {
    std::size_t before = 0;
    for (int i = 0; i < rank_; ++i) before += bytes[static_cast<std::size_t>(i)];
    const auto own =
        std::span<const std::byte>(all).subspan(before, bytes[static_cast<std::size_t>(rank_)]);
    meeting_->exchange(rank_, "all_gather", {own, bytes}, deadline, [&](const auto& loans) {
      std::byte* to = all.data();
      for (std::size_t from = 0; from < loans.size(); ++from) {
        DS_ASSERT(loans[from].data.size() == bytes[from]);
        if (from != static_cast<std::size_t>(rank_) && bytes[from] > 0)
          std::memcpy(to, loans[from].data.data(), bytes[from]);
        to += bytes[from];
      }
    });
  }
  void broadcast(std::span<std::byte> data, int root, Deadline deadline) override {
    meeting_->exchange(rank_, "broadcast", {data, {}}, deadline, [&](const auto& loans) {
      const std::span<const std::byte> from = loans[static_cast<std::size_t>(root)].data;
      DS_ASSERT(from.size() == data.size());
      if (rank_ != root && !data.empty()) std::memcpy(data.data(), from.data(), data.size());
    });
  }
  void send(std::span<const std::byte> data, int to, Deadline deadline) override {
    meeting_->send(rank_, to, data, deadline);
  }
  void receive(std::span<std::byte> data, int from, Deadline deadline) override {
    meeting_->receive(from, rank_, data, deadline);
  }
  void barrier(Deadline deadline) override {
    meeting_->exchange(rank_, "barrier", {}, deadline, [](const auto&) {});
  }
  void abort() override { meeting_->abort(); }

 private:
  const std::shared_ptr<ThreadMeeting> meeting_;
  const int rank_;
};

/// What the ranks of one world share; make one, then one ThreadCollectives per thread.
class ThreadWorld {
 public:
  explicit ThreadWorld(int size) : size_(size) {}
  int size() const { return size_; }
  /// The n-th making of a group by one rank meets the n-th of the others.
  std::shared_ptr<ThreadMeeting> meeting(int rank, const GroupSpec& spec) {
    const std::lock_guard lock(mutex_);
    const std::string name = fmt::format("{}/{}", spec.name, spec.epoch);
    const int count = ++made_[{name, rank}];
    std::shared_ptr<ThreadMeeting>& meeting = meetings_[{name, count}];
    if (!meeting) meeting = std::make_shared<ThreadMeeting>(spec);
    return meeting;
  }

 private:
  const int size_;
  std::mutex mutex_;
  std::map<std::pair<std::string, int>, int> made_;
  std::map<std::pair<std::string, int>, std::shared_ptr<ThreadMeeting>> meetings_;
};

class ThreadCollectives final : public Collectives {
 public:
  ThreadCollectives(std::shared_ptr<ThreadWorld> world, int rank)
      : world_(std::move(world)), rank_(rank) {}
  int rank() const override { return rank_; }
  int world_size() const override { return world_->size(); }
  std::unique_ptr<Group> make_group(const GroupSpec& spec, Deadline deadline) override {
    const auto self = std::find(spec.ranks.begin(), spec.ranks.end(), rank_);
    DS_ASSERT(self != spec.ranks.end());
    auto group = std::make_unique<ThreadGroup>(world_->meeting(rank_, spec),
                                               static_cast<int>(self - spec.ranks.begin()));
    group->barrier(deadline);
    return group;
  }

 private:
  const std::shared_ptr<ThreadWorld> world_;
  const int rank_;
};

}  // namespace ds::test
