// DeviceSingleGroup: a group of one rank on the device.
#include "engine/comm/nccl/device_single.h"

#include "engine/base/error.h"

namespace ds::comm {

DeviceSingleGroup::DeviceSingleGroup(GroupSpec spec, Device& device)
    : spec_(std::move(spec)),
      device_(device),
      own_stream_(device.make_side_stream("single")),
      stream_(own_stream_.get()) {}

void DeviceSingleGroup::run_on(Stream& stream) {
  stream_ = &stream;
  own_stream_.reset();
}

void DeviceSingleGroup::check(const char* operation) const {
  if (!aborted_) return;
  throw Error(ErrorKind::comm, fmt::format("rank {} (of group {}): {}: the group was aborted",
                                           spec_.ranks.front(), spec_.name, operation));
}

void DeviceSingleGroup::all_to_all(SendPieces send, ReceivePieces receive, Deadline) {
  check("all_to_all");
  DS_ASSERT(send.size() == 1 && receive.size() == 1 && send[0].size() == receive[0].size());
  if (send[0].empty() || receive[0].data() == send[0].data()) return;
  device_.copy(receive[0].data(), send[0].data(), send[0].size(), *stream_);
  if (own_stream_ != nullptr) own_stream_->synchronize();
}

void DeviceSingleGroup::all_gather(ReceivePieces pieces, Deadline) {
  check("all_gather");
  DS_ASSERT(pieces.size() == 1);
}

void DeviceSingleGroup::broadcast(std::span<std::byte>, int root, Deadline) {
  check("broadcast");
  DS_ASSERT(root == 0);
}

void DeviceSingleGroup::send(std::span<const std::byte>, int, Deadline) {
  DS_ASSERT(false, "a group of one rank has no peers");
}
void DeviceSingleGroup::receive(std::span<std::byte>, int, Deadline) {
  DS_ASSERT(false, "a group of one rank has no peers");
}

void DeviceSingleGroup::barrier(Deadline) {
  check("barrier");
  stream_->synchronize();
}

}  // namespace ds::comm
