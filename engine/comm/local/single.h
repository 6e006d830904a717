// SingleGroup and SingleCollectives: collectives of one process, which copy at most.
#pragma once

#include <atomic>
#include <utility>

#include "engine/comm/collectives.h"

namespace ds::comm {

class SingleGroup final : public Group {
 public:
  explicit SingleGroup(GroupSpec spec) : spec_(std::move(spec)) {}
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] const GroupSpec& spec() const override { return spec_; }
  void about(std::string_view) override {}  // no other rank to compare it with
  void all_to_all(SendPieces send, ReceivePieces receive, Deadline deadline) override;
  void all_gather(ReceivePieces pieces, Deadline deadline) override;
  void broadcast(std::span<std::byte> data, int root, Deadline deadline) override;
  void send(std::span<const std::byte> data, int to, Deadline deadline) override;
  void receive(std::span<std::byte> data, int from, Deadline deadline) override;
  void barrier(Deadline deadline) override;
  void abort() override { aborted_ = true; }

 private:
  void check(const char* operation) const;
  GroupSpec spec_;
  std::atomic<bool> aborted_ = false;
};

class SingleCollectives final : public Collectives {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int world_size() const override { return 1; }
  std::unique_ptr<Group> make_group(const GroupSpec& spec, Deadline deadline) override;
};

}  // namespace ds::comm
