// Worlds whose groups use NCCL on emulated devices, one per rank.
#include <cstdlib>

#include "conformance/comm_worlds.h"
#include "conformance/staged_group.h"
#include "engine/comm/nccl/nccl_collectives.h"
#include "engine/device/cuda/cuda_device.h"

namespace ds::test {
namespace {

std::unique_ptr<Collectives> on_device(std::unique_ptr<Collectives> host, int rank) {
  auto device = cuda::make_cuda_device(rank);
  auto inner = comm::make_nccl_collectives(*device, *host);
  return std::make_unique<StagedCollectives>(std::move(host), std::move(device), std::move(inner));
}

Backend on_devices(const char* name, const Backend& host) {
  return {name, host.share, [make = host.make](void* shared, int rank, int size) {
            return on_device(make(shared, rank, size), rank);
          }};
}

}  // namespace

std::vector<Backend> moving_backends(Clock::duration hang_after) {
  return {on_devices("nccl", backends(hang_after)[1])};
}

}  // namespace ds::test
