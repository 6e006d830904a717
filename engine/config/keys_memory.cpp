// Keys of the sections [zero], [offload.*] and [recompute].
#include "engine/config/key_access.h"

namespace ds {
namespace {

constexpr double kAny = 9.3e18;  // above every int64
constexpr std::string_view kShards = "flat|tensor";
constexpr std::string_view kDevices = "none|cpu|nvme";
constexpr std::string_view kHostDevices = "none|cpu";
constexpr std::string_view kUpdates = "auto|after|forward|backward";
constexpr std::string_view kEngines = "auto|uring|threads";
constexpr std::string_view kPolicies = "none|selective|block|auto";

using K = KeyKind;
// clang-format off
const Key kMemoryKeys[] = {
    {"zero.stage", K::integer, false, 0, 3, "", "", "0",
     "State that is sharded among the ranks: 0 none, 1 optimizer state, 2 also gradients, 3 also weights.", DS_FIELD(zero.stage)},
    {"zero.gather_bucket", K::count, false, 1, kAny, "auto", "", "500000000",
     "Most elements of a parameter group that one collective gathers. The smaller of both buckets cuts groups.", DS_OR_AUTO(zero.gather_bucket, kAuto)},
    {"zero.reduce_bucket", K::count, false, 1, kAny, "auto", "", "500000000",
     "Most elements of a parameter group that one collective reduces. The smaller of both buckets cuts groups.", DS_OR_AUTO(zero.reduce_bucket, kAuto)},
    {"zero.prefetch", K::count, false, 0, kAny, "auto", "", "1",
     "Stage 3: elements gathered ahead of their use, at least one group; 0 = none. DeepSpeed's default is 50000000, which takes up to that many more elements of memory.", DS_OR_AUTO(zero.prefetch, kAuto)},
    {"zero.max_live", K::count, false, 0, kAny, "", "", "1000000000",
     "Stage 3: maximum elements of gathered weights at one time.", DS_FIELD(zero.max_live)},
    {"zero.reuse_distance", K::count, false, 0, kAny, "", "", "0",
     "Stage 3: keep gathered weights whose next use is within this number of elements; 0 = release at once. DeepSpeed's 1e9 keeps models of up to that size whole.", DS_FIELD(zero.reuse_distance)},
    {"zero.persist_below", K::count, false, 0, kAny, "", "", "0",
     "Stage 3: keep groups with fewer elements whole on every rank.", DS_FIELD(zero.persist_below)},
    {"zero.overlap", K::flag, false, 0, 0, "", "", "true",
     "Run collectives and copies while the arithmetic runs.", DS_FIELD(zero.overlap)},
    {"zero.shards", K::choice, false, 0, 0, kShards, "", "\"flat\"",
     "flat: cut the memory of a group evenly; tensor: keep every tensor whole on one rank.", DS_WORD(zero.shards, kShards)},

    {"offload.optimizer.device", K::choice, false, 0, 0, kDevices, "", "\"none\"",
     "Where master weights and moments are stored and updated.", DS_WORD(offload.optimizer.device, kDevices)},
    {"offload.optimizer.paths", K::folders, false, 0, 0, "", "", "[]",
     "Folders for device = nvme; data is striped over several.", DS_FIELD(offload.optimizer.paths)},
    {"offload.optimizer.pin", K::flag, false, 0, 0, "", "", "true",
     "Page-lock host memory that is copied to or from the device.", DS_FIELD(offload.optimizer.pin)},
    {"offload.optimizer.buffers", K::integer, false, 2, 1024, "", "", "4",
     "Tiles in flight at one time.", DS_FIELD(offload.optimizer.buffers)},
    {"offload.optimizer.tile", K::count, false, 1024, kAny, "", "", "4194304",
     "Elements of one tile.", DS_FIELD(offload.optimizer.tile)},
    {"offload.optimizer.device_share", K::count, false, 0, 100, "auto", "", "\"auto\"",
     "Percent of the tiles in host memory that the device updates, with their states copied there and back; the host's cores update the rest. The bits are the same. auto: the fastest share by measured rates; 0 on the CPU.",
     DS_OR_AUTO(offload.optimizer.device_share, kAuto)},
    {"offload.optimizer.update", K::choice, false, 0, 0, kUpdates, "", "\"auto\"",
     "When to update tiles: after the step's gradients, in the order of the next forward, or during backward (undone when clipping requires it); auto: forward.", DS_WORD(offload.optimizer.update, kUpdates)},

    {"offload.param.device", K::choice, false, 0, 0, kDevices, "", "\"none\"",
     "Stage 3: where this rank's shards of the weights are stored.", DS_WORD(offload.param.device, kDevices)},
    {"offload.param.paths", K::folders, false, 0, 0, "", "", "offload.optimizer.paths",
     "Folders for device = nvme.", DS_FIELD(offload.param.paths)},
    {"offload.param.pin", K::flag, false, 0, 0, "", "", "true",
     "Page-lock host memory that is copied to or from the device.", DS_FIELD(offload.param.pin)},
    {"offload.param.buffers", K::integer, false, 2, 1024, "", "", "4",
     "Shards in flight at one time.", DS_FIELD(offload.param.buffers)},

    {"offload.grad.device", K::choice, false, 0, 0, kDevices, "", "\"none\"",
     "Stage 3: where this rank's sums of gradients are stored.", DS_WORD(offload.grad.device, kDevices)},
    {"offload.grad.paths", K::folders, false, 0, 0, "", "", "offload.optimizer.paths",
     "Folders for device = nvme.", DS_FIELD(offload.grad.paths)},

    {"offload.activation.device", K::choice, false, 0, 0, kHostDevices, "", "\"none\"",
     "Where activations are stored between forward and backward.", DS_WORD(offload.activation.device, kHostDevices)},

    {"offload.io.engine", K::choice, false, 0, 0, kEngines, "", "\"auto\"",
     "How to read and write files; auto: uring where the kernel allows it, else threads.", DS_WORD(offload.io.engine, kEngines)},
    {"offload.io.block", K::bytes, false, 4096, 1 << 30, "", "", "1048576",
     "Bytes of one request; a multiple of 4096.", DS_FIELD(offload.io.block)},
    {"offload.io.depth", K::integer, false, 1, 4096, "", "", "32",
     "Requests in flight for one path.", DS_FIELD(offload.io.depth)},
    {"offload.io.checksum", K::flag, false, 0, 0, "", "", "true",
     "Verify data that is read by the checksum of what was written.", DS_FIELD(offload.io.checksum)},

    {"recompute.policy", K::choice, false, 0, 0, kPolicies, "", "\"none\"",
     "What backward recomputes. none: nothing; selective: norms, activations and attention; block: everything within a block; auto: the least that makes the plan fit in memory.", DS_WORD(recompute.policy, kPolicies)},
};
// clang-format on

}  // namespace

std::span<const Key> memory_keys() { return kMemoryKeys; }

}  // namespace ds
