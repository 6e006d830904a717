// MeshGroup: a group over links. The calling thread moves the bytes, from the caller's memory to
// the socket or out of the peer's memory; there is no other thread and no copy between.
//
// Every member sends straight to every other, so an error names the rank that is at fault. In large
// groups barrier() and combine() go up a tree to the first rank and down again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/comm/collectives.h"
#include "engine/comm/mesh/call_log.h"
#include "engine/comm/mesh/coordinator_client.h"
#include "engine/comm/mesh/countdown.h"
#include "engine/comm/mesh/hang_guard.h"
#include "engine/comm/mesh/link.h"
#include "engine/comm/mesh/peer_memory.h"
#include "engine/comm/slow_wire.h"

namespace ds::comm {

class MeshGroup final : public Group {
 public:
  struct Parts {
    GroupSpec spec{};
    int rank = 0;                         // in the group
    std::vector<UniqueFd> links{};        // by rank in the group; the own one is invalid
    std::vector<PeerMemory> memories{};   // of the ranks, or empty
    std::shared_ptr<OwnMemory> memory{};  // this rank's, revoked when the group fails; may be null
    std::shared_ptr<CoordinatorClient> coordinator{};  // may be null
    std::shared_ptr<HangGuard> guard{};                // may be null
    std::shared_ptr<SlowWire> wire{};                  // may be null
    std::string mesh{};                                // as in CoordinatorClient::meet()
    std::size_t offer_from = std::size_t{64} << 10;    // see Link
  };
  /// Errors: Error{system} when the system has no descriptors left.
  explicit MeshGroup(Parts parts);
  ~MeshGroup() override;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(spec_.ranks.size()); }
  [[nodiscard]] const GroupSpec& spec() const override { return spec_; }
  void about(std::string_view path) override { about_ = path; }
  void all_to_all(SendPieces from, ReceivePieces into, Deadline deadline) override;
  void all_gather(ReceivePieces pieces, Deadline deadline) override;
  void combine(std::span<std::byte> value, Join join, Deadline deadline) override;
  void barrier(Deadline deadline) override;
  void abort() override;

 private:
  /// The current operation, as long as it lasts.
  struct Operation {
    /// Errors: Error{comm} when the group failed or was aborted before. `bytes`: what all members
    /// know of the sizes.
    Operation(MeshGroup& group, std::string_view name, Deadline deadline, std::uint64_t bytes = 0);
    ~Operation() { log_.end(); }
    Operation(const Operation&) = delete;
    CallLog& log_;
  };
  void exchange(std::span<std::byte> value, Join join);
  void climb(std::span<std::byte> value, Join join);
  void send(int peer, std::span<const std::byte> data);
  void receive(int peer, std::span<std::byte> into);
  /// Returns when all that was sent has left (its memory may be reused) and the rest has arrived.
  void finish();
  /// Lets the link move bytes, if it can.
  void give_turn(int peer);
  void wait(int milliseconds);
  [[noreturn]] void fail(std::string_view what);
  [[noreturn]] void fail_of_lateness();
  [[noreturn]] void fail_of_peer(int peer);
  /// Makes the current and every later operation fail, unless there was a reason before. Any
  /// thread.
  void stop(const std::string& why);
  /// Returns why operations must fail; empty when they need not.
  [[nodiscard]] std::string stopped();
  void close_links();
  void watch(int descriptor, int peer) const;
  /// Tells the others why this member gives up. Returns the first report of the group, which may be
  /// another member's.
  [[nodiscard]] std::string report_fault(const std::string& what);
  [[nodiscard]] int neighbor(int step) const { return (rank_ + size() + step) % size(); }
  [[nodiscard]] Link& link(int peer) { return *links_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] std::string name_of(int group_rank) const;

  const GroupSpec spec_;
  const int rank_;
  const std::shared_ptr<OwnMemory> memory_;
  const std::shared_ptr<CoordinatorClient> coordinator_;
  const std::shared_ptr<HangGuard> guard_;
  const std::string mesh_;
  const UniqueFd poll_, wake_;                // epoll(7) of all links and wake_, an eventfd(2)
  std::vector<std::unique_ptr<Link>> links_;  // by rank in the group; the own one is null
  std::mutex mutex_;
  std::string stopped_;  // guarded by mutex_
  std::atomic<bool> is_stopped_ = false;
  bool failed_ = false;
  int first_ended_ = -1;           // the peer whose connection ended first
  std::vector<std::byte> values_;  // what the others combine; kept so that no operation allocates
  std::string about_;
  std::uint64_t calls_ = 0;  // how many operations were begun
  // Of the current operation:
  std::string_view name_;
  std::uint64_t slot_ = 0;  // of all its messages
  Clock::time_point begun_{};
  Countdown countdown_{Deadline(begun_), begun_};
  std::size_t sent_ = 0, received_ = 0;  // bytes of messages that were added
  const std::shared_ptr<SlowWire> wire_;
  CallLog log_;
};

}  // namespace ds::comm
