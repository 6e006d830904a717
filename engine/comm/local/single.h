// SingleGroup and SingleCollectives: collectives of one process, which copy at most.
#pragma once

#include <atomic>
#include <cstring>
#include <utility>

#include "engine/base/error.h"
#include "engine/comm/collectives.h"

namespace ds::comm {

class SingleGroup final : public Group {
 public:
  explicit SingleGroup(GroupSpec spec) : spec_(std::move(spec)) {}
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] const GroupSpec& spec() const override { return spec_; }
  void about(std::string_view) override {}  // no other rank to compare it with
  void all_to_all(SendPieces send, ReceivePieces receive, Deadline) override {
    check("all_to_all");
    DS_ASSERT(send.size() == 1 && receive.size() == 1 && send[0].size() == receive[0].size());
    if (!send[0].empty() && receive[0].data() != send[0].data())
      std::memcpy(receive[0].data(), send[0].data(), send[0].size());
  }
  void all_gather(ReceivePieces, Deadline) override { check("all_gather"); }
  void combine(std::span<std::byte>, Join, Deadline) override { check("combine"); }
  void barrier(Deadline) override { check("barrier"); }
  void abort() override { aborted_ = true; }

 private:
  void check(const char* operation) const {
    if (!aborted_) return;
    throw Error(ErrorKind::comm, fmt::format("rank {} (of group {}): {}: the group was aborted",
                                             spec_.ranks.front(), spec_.name, operation));
  }

  GroupSpec spec_;
  std::atomic<bool> aborted_ = false;
};

class SingleCollectives final : public Collectives {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int world_size() const override { return 1; }
  std::unique_ptr<Group> make_group(const GroupSpec& spec, Deadline) override {
    DS_ASSERT(spec.ranks == std::vector<int>{0});
    return std::make_unique<SingleGroup>(spec);
  }
};

}  // namespace ds::comm
