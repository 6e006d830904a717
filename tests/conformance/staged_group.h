// StagedGroup: a device's group for bytes in host memory. Each operation goes through device memory
// and has finished on return.
#pragma once

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "engine/comm/collectives.h"
#include "engine/device/device.h"

namespace ds::test {

class StagedGroup final : public Group {
 public:
  /// `inner` runs on a stream of this group.
  StagedGroup(std::unique_ptr<Group> inner, Device& device)
      : device_(device), stream_(device.make_side_stream("staged")), inner_(std::move(inner)) {
    inner_->run_on(*stream_);
  }
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const GroupSpec& spec() const override { return inner_->spec(); }
  void about(std::string_view path) override { inner_->about(path); }
  Group& inner() { return *inner_; }

  void all_to_all(SendPieces send, ReceivePieces receive, Deadline deadline) override {
    const auto me = static_cast<std::size_t>(rank());
    Place place(*this, total(send) + total(receive));
    std::vector<std::span<const std::byte>> sent;
    for (const auto& piece : send) sent.push_back(place.bring(piece));
    auto received = place.cut(receive);
    const bool in_place = send[me].data() == receive[me].data();
    if (in_place) received[me] = {const_cast<std::byte*>(sent[me].data()), sent[me].size()};
    inner_->all_to_all(sent, received, deadline);
    fetch(received, receive);
  }
  void all_gather(ReceivePieces pieces, Deadline deadline) override {
    const auto me = static_cast<std::size_t>(rank());
    Place place(*this, total(pieces));
    const auto there = place.cut(pieces);
    device_.copy(there[me].data(), pieces[me].data(), pieces[me].size(), *stream_);
    inner_->all_gather(there, deadline);
    fetch(there, pieces);
  }
  void combine(std::span<std::byte> value, Join join, Deadline deadline) override {
    inner_->combine(value, join, deadline);
  }
  void barrier(Deadline deadline) override { inner_->barrier(deadline); }
  void abort() override { inner_->abort(); }

 private:
  // Device memory, allocated piece by piece. It is freed only at the group's end: freeing would
  // wait for all streams of the device, and so for the other ranks.
  class Place {
   public:
    Place(StagedGroup& group, std::size_t bytes) : group_(group), at_(group.room_for(bytes)) {}
    ~Place() { group_.stream_->synchronize(); }
    Place(const Place&) = delete;
    std::span<std::byte> take(std::size_t bytes) {
      at_ += bytes;
      return {at_ - bytes, bytes};
    }
    std::span<std::byte> bring(std::span<const std::byte> data) {
      const std::span<std::byte> there = take(data.size());
      group_.device_.copy(there.data(), data.data(), data.size(), *group_.stream_);
      return there;
    }
    std::vector<std::span<std::byte>> cut(ReceivePieces pieces) {
      std::vector<std::span<std::byte>> all;
      for (const auto& piece : pieces) all.push_back(take(piece.size()));
      return all;
    }

   private:
    StagedGroup& group_;
    std::byte* at_;
  };

  std::byte* room_for(std::size_t bytes) {
    if (arenas_.empty() || arenas_.back()->bytes() < bytes)
      arenas_.push_back(device_.allocate(Tier::device, 2 * bytes + 1000));
    return arenas_.back()->data();
  }

  static std::size_t total(const auto& pieces) {
    std::size_t bytes = 0;
    for (const auto& piece : pieces) bytes += piece.size();
    return bytes;
  }
  void fetch(ReceivePieces there, ReceivePieces here) {
    for (std::size_t i = 0; i < here.size(); ++i)
      device_.copy(here[i].data(), there[i].data(), here[i].size(), *stream_);
    settle();
  }
  void settle() {
    stream_->synchronize();
    inner_->raise_failure();
  }

  Device& device_;
  std::vector<std::unique_ptr<Arena>> arenas_;
  const std::unique_ptr<Stream> stream_;
  const std::unique_ptr<Group> inner_;
};

/// A rank's device and its groups.
class StagedCollectives final : public Collectives {
 public:
  StagedCollectives(std::unique_ptr<Collectives> host, std::unique_ptr<Device> device,
                    std::unique_ptr<Collectives> inner)
      : host_(std::move(host)), device_(std::move(device)), inner_(std::move(inner)) {}
  Activity& activity() override { return inner_->activity(); }
  int rank() const override { return inner_->rank(); }
  int world_size() const override { return inner_->world_size(); }
  std::unique_ptr<Group> make_group(const GroupSpec& spec, Deadline deadline) override {
    return std::make_unique<StagedGroup>(inner_->make_group(spec, deadline), *device_);
  }
  Device& device() { return *device_; }

 private:
  const std::unique_ptr<Collectives> host_;
  const std::unique_ptr<Device> device_;
  const std::unique_ptr<Collectives> inner_;
};

}  // namespace ds::test
