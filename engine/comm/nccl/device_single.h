// DeviceSingleGroup: a group of one rank whose operations run on the device. Copies at most; does
// not need NCCL.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "engine/comm/collectives.h"
#include "engine/device/device.h"

namespace ds::comm {

class DeviceSingleGroup final : public Group {
 public:
  DeviceSingleGroup(GroupSpec spec, Device& device);
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] const GroupSpec& spec() const override { return spec_; }
  void about(std::string_view) override {}  // no other rank to compare it with
  void run_on(Stream& stream) override;
  void all_to_all(SendPieces send, ReceivePieces receive, Deadline deadline) override;
  void all_gather(ReceivePieces pieces, Deadline deadline) override;
  void broadcast(std::span<std::byte> data, int root, Deadline deadline) override;
  void send(std::span<const std::byte> data, int to, Deadline deadline) override;
  void receive(std::span<std::byte> data, int from, Deadline deadline) override;
  void barrier(Deadline deadline) override;
  void abort() override { aborted_ = true; }

 private:
  void check(const char* operation) const;
  const GroupSpec spec_;
  Device& device_;
  std::unique_ptr<Stream> own_stream_;  // used until run_on()
  Stream* stream_;
  std::atomic<bool> aborted_ = false;
};

}  // namespace ds::comm
