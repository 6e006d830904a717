// NcclCollectives: groups over NCCL. Members meet over the host's groups, which carry NCCL's unique
// id and, after a failure, the name of the rank at fault.
#pragma once

#include <memory>
#include <string>

#include "engine/comm/collectives.h"
#include "engine/comm/nccl/communicator.h"
#include "engine/device/device.h"

namespace ds::comm {

class NcclCollectives final : public Collectives {
 public:
  /// Uses the calling thread's device. Errors: Error{config} when NCCL is missing.
  NcclCollectives(Device& device, Collectives& host);

  [[nodiscard]] Activity& activity() override { return host_.activity(); }
  [[nodiscard]] int rank() const override { return host_.rank(); }
  [[nodiscard]] int world_size() const override { return host_.world_size(); }
  /// Every operation of the group takes memory of the device (or of the tier pinned_host).
  std::unique_ptr<Group> make_group(const GroupSpec& spec, Deadline deadline) override;

 private:
  [[nodiscard]] std::string meet(const NcclApi& api, Group& control, Communicator& comm,
                                 const GroupSpec& spec, Deadline deadline) const;

  Device& device_;
  Collectives& host_;
  int cuda_device_ = 0;
};

/// Called by the plugin's entry.
std::unique_ptr<Collectives> make_nccl_collectives(Device& device, Collectives& host);

}  // namespace ds::comm
