// Collectives among threads of one process over shared memory, for tests that need ranks without a
// network.
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
#include "engine/comm/pieces.h"

namespace ds::test {

/// State shared by the members of one group: the bytes that each has lent to the current operation.
class ThreadMeeting {
 public:
  explicit ThreadMeeting(GroupSpec spec) : spec_(std::move(spec)), at_(spec_.ranks.size()) {}
  const GroupSpec& spec() const { return spec_; }

  struct Loan {
    const char* name = "";
    std::string about{};
    SendPieces pieces{};
  };
  /// Everyone lends, everyone copies what it needs by `copy(loans)`, everyone leaves. Throws
  /// Error{comm}, also when not all are in the same operation.
  template <class Copy>
  void exchange(int rank, Loan loan, Deadline deadline, const Copy& copy) {
    const char* name = loan.name;
    const auto me = static_cast<std::size_t>(rank);
    std::unique_lock lock(mutex_);
    loans_.resize(at_.size());
    loans_[me] = std::move(loan);
    arrive(lock, rank, name, deadline);
    const std::string difference = difference_of(rank);
    lock.unlock();
    if (difference.empty()) copy(std::as_const(loans_));
    lock.lock();
    // Others may still read what we have lent; none of them can fail before it gets here.
    const std::size_t round = ++at_[me];
    changed_.notify_all();
    changed_.wait(lock, [&] { return missing(round).empty(); });
    if (!difference.empty()) throw Error(ErrorKind::comm, difference);
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
    try {
      wait(
          lock, rank, name, deadline, [&] { return missing(round).empty(); },
          [&] { return missing(round); });
    } catch (...) {
      --at_[static_cast<std::size_t>(rank)];  // the others must not use the bytes that it lent
      throw;
    }
  }

  std::vector<int> missing(std::size_t round) const {
    std::vector<int> ranks;
    for (std::size_t i = 0; i < at_.size(); ++i) {
      if (at_[i] < round) ranks.push_back(static_cast<int>(i));
    }
    return ranks;
  }

  // Empty when all are in the same operation.
  std::string difference_of(int rank) const {
    const Loan& own = loans_[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < loans_.size(); ++i) {
      const Loan& other = loans_[i];
      if (other.about == own.about && std::strcmp(other.name, own.name) == 0) continue;
      return fmt::format("{} (of group {}): {} {}, but {} is in {} {}", name_of(rank), spec_.name,
                         own.name, own.about, name_of(static_cast<int>(i)), other.name,
                         other.about);
    }
    return {};
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
      if (broken_.empty()) broken_ = "the group had already failed";
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

  void about(std::string_view path) override { about_ = path; }
  void all_to_all(SendPieces send, ReceivePieces receive, Deadline deadline) override {
    const auto me = static_cast<std::size_t>(rank_);
    exchange("all_to_all", send, deadline, [&](const auto& loans) {
      for (std::size_t from = 0; from < loans.size(); ++from)
        copy(loans[from].pieces[me], receive[from]);
    });
  }
  void all_gather(ReceivePieces pieces, Deadline deadline) override {
    const auto me = static_cast<std::size_t>(rank_);
    const std::span<const std::byte> own = pieces[me];
    exchange("all_gather", {&own, 1}, deadline, [&](const auto& loans) {
      for (std::size_t from = 0; from < loans.size(); ++from)
        copy(loans[from].pieces[0], pieces[from]);
    });
  }
  void combine(std::span<std::byte> value, Join join, Deadline deadline) override {
    std::vector<std::byte> all(static_cast<std::size_t>(size()) * value.size());
    const auto values = cut_pieces(std::span(all), static_cast<std::size_t>(size()));
    std::ranges::copy(value, values[static_cast<std::size_t>(rank_)].begin());
    all_gather(values, deadline);
    std::ranges::copy(values[0], value.begin());
    for (std::size_t i = 1; i < values.size(); ++i) join(value, values[i]);
  }
  void barrier(Deadline deadline) override {
    exchange("barrier", {}, deadline, [](const auto&) {});
  }
  void abort() override { meeting_->abort(); }

 private:
  template <class Copy>
  void exchange(const char* name, SendPieces pieces, Deadline deadline, const Copy& copy) {
    meeting_->exchange(rank_, {name, about_, pieces}, deadline, copy);
  }
  static void copy(std::span<const std::byte> from, std::span<std::byte> to) {
    DS_ASSERT(from.size() == to.size());
    if (!to.empty() && to.data() != from.data()) std::memcpy(to.data(), from.data(), to.size());
  }

  const std::shared_ptr<ThreadMeeting> meeting_;
  const int rank_;
  std::string about_;
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
