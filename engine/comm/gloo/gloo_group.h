// GlooGroup: a group over Gloo's unbound buffers, which move bytes between the caller's memory and
// the socket.
//
// Every member sends straight to every other (all_to_all, all_gather, barrier), so an error names
// the rank that is at fault. Allocation: one small object of Gloo's per message, under 1 KiB,
// whatever its length.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/comm/collectives.h"
#include "engine/comm/gloo/call_log.h"
#include "engine/comm/gloo/hang_guard.h"
#include "engine/comm/gloo/link_pair.h"
#include "engine/comm/gloo/store_client.h"
#include "engine/comm/gloo/watchdog.h"

namespace ds::comm {

/// Returns bits 32 to 55 of a slot, made from a number that tells different messages apart.
constexpr std::uint64_t mark_of(std::uint64_t value) {
  return (value * 0x9e37'79b9'7f4a'7c15U >> 40) << 32;
}

class GlooGroup final : public Group {
 public:
  struct Parts {
    GroupSpec spec;
    int rank = 0;                 // in the group
    std::vector<UniqueFd> links;  // by rank in the group; the own one is invalid
    std::shared_ptr<::gloo::transport::tcp::Device> device;
    std::shared_ptr<Watchdog> watchdog;
    std::shared_ptr<StoreClient> store;  // where faults are reported; may be null
    std::shared_ptr<HangGuard> guard;    // may be null
    std::string mesh;                    // the group's name in the store
    std::size_t chunk_bytes = std::size_t{1}
                              << 30;  // longest message on the wire; longer ones are split
  };
  explicit GlooGroup(Parts parts);
  ~GlooGroup() override;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(spec_.ranks.size()); }
  [[nodiscard]] const GroupSpec& spec() const override { return spec_; }
  void about(std::string_view path) override;
  void all_to_all(SendPieces send, ReceivePieces receive, Deadline deadline) override;
  void all_gather(ReceivePieces pieces, Deadline deadline) override;
  void broadcast(std::span<std::byte> data, int root, Deadline deadline) override;
  void send(std::span<const std::byte> data, int to, Deadline deadline) override;
  void receive(std::span<std::byte> data, int from, Deadline deadline) override;
  void barrier(Deadline deadline) override;
  void abort() override;

 private:
  class Operation;
  /// One direction of one peer in the current operation.
  struct Message {
    int peer = 0;
    bool outgoing = false;
    std::size_t parts = 0;  // not waited for yet
    std::unique_ptr<::gloo::transport::UnboundBuffer> buffer;
  };
  enum class Kind : std::uint8_t {
    all_to_all = 1,
    all_gather,
    broadcast,
    scatter,
    point_to_point,
    barrier
  };

  /// What Gloo's thread and abort() have reported; guarded by mutex_.
  struct News {
    bool aborted = false;
    std::string hopeless;     // why waiting is useless
    bool late = false;        // the deadline of the current operation has passed
    bool closing = false;     // this member is closing its own links, so their end is expected
    std::vector<bool> ended;  // per peer: its connection ended
    int first_ended = -1;
  };

  void on_link_ended(int peer);
  void on_late();
  void on_hopeless(const std::string& reason);
  void forget_lateness();
  void wake_waiting();  // with mutex_ held
  [[nodiscard]] News news();
  [[nodiscard]] bool has_news();
  [[nodiscard]] bool is_aborted();
  /// Tells the others why this member gives up. Returns the first report of the group, which may be
  /// another member's.
  [[nodiscard]] std::string report_fault(const std::string& what);
  [[nodiscard]] std::uint64_t next_slot(Kind kind);
  [[nodiscard]] static std::uint64_t message_slot(Kind kind, std::uint64_t number) {
    return (static_cast<std::uint64_t>(kind) << 56) | number;
  }
  [[nodiscard]] std::string name_of(int group_rank) const;

  const GroupSpec spec_;
  const int rank_;
  const std::shared_ptr<Watchdog> watchdog_;
  const std::function<void()> late_ = [this] { on_late(); };
  const std::shared_ptr<StoreClient> store_;
  const std::shared_ptr<HangGuard> guard_;
  const std::string mesh_;
  const std::size_t chunk_bytes_;
  // Gloo takes it with a pair locked, so no pair may be touched while it is held
  std::mutex mutex_;
  News news_;
  std::vector<::gloo::transport::UnboundBuffer*>
      waiting_;  // buffers of the current operation; guarded by mutex_
  bool failed_ = false;
  std::vector<Message>
      messages_;  // storage of the current operation, kept so that no operation allocates
  std::vector<std::byte> marks_;  // what a barrier sends: one byte per member
  std::string about_;
  std::uint64_t about_mark_ = 0;                // the hash of about_, as part of slots
  std::uint64_t calls_ = 0;                     // number of collectives
  std::uint64_t sequence_ = 0;                  // sequence number of collectives
  std::vector<std::uint64_t> sent_, received_;  // number of point-to-point messages, by peer
  CallLog log_{[this](const std::string& reason) { on_hopeless(reason); }};
  std::atomic<std::uint64_t> traffic_ = 0;
  std::shared_ptr<LinkContext> context_;  // last member: its destructor stops Gloo's callbacks
};

}  // namespace ds::comm
