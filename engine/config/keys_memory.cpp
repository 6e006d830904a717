// Keys of [zero], [offload.*] and [recompute].
#include "engine/config/key_access.h"

namespace ds {
namespace {

constexpr double kAny = 9.3e18;  // Beyond every int64.
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
     "What is sharded among the ranks: 1 optimizer state, 2 gradients too, 3 weights too.", DS_FIELD(zero.stage)},
    {"zero.gather_bucket", K::count, false, 1, kAny, "auto", "", "500000000",
     "Elements gathered by one collective, as whole groups.", DS_OR_AUTO(zero.gather_bucket, kAuto)},
    {"zero.reduce_bucket", K::count, false, 1, kAny, "auto", "", "500000000",
     "Elements reduced by one collective, as whole groups.", DS_OR_AUTO(zero.reduce_bucket, kAuto)},
    {"zero.prefetch", K::count, false, 0, kAny, "auto", "", "1",
     "Stage 3: elements gathered ahead of their use, at least one group; 0: nothing ahead. DeepSpeed's default is 50000000: up to that many more in memory.", DS_OR_AUTO(zero.prefetch, kAuto)},
    {"zero.max_live", K::count, false, 0, kAny, "", "", "1000000000",
     "Stage 3: elements of gathered weights at one time.", DS_FIELD(zero.max_live)},
    {"zero.reuse_distance", K::count, false, 0, kAny, "", "", "0",
     "Stage 3: gathered weights stay when their next use is within so many elements; 0 = released at once (DeepSpeed's 1e9 keeps models of that size whole).", DS_FIELD(zero.reuse_distance)},
    {"zero.persist_below", K::count, false, 0, kAny, "", "", "0",
     "Stage 3: groups with fewer elements stay whole on every rank.", DS_FIELD(zero.persist_below)},
    {"zero.overlap", K::flag, false, 0, 0, "", "", "true",
     "Collectives and copies run beside the arithmetic.", DS_FIELD(zero.overlap)},
    {"zero.shards", K::choice, false, 0, 0, kShards, "", "\"flat\"",
     "flat: a group's memory is cut evenly; tensor: every tensor lies on one rank whole.", DS_WORD(zero.shards, kShards)},

    {"offload.optimizer.device", K::choice, false, 0, 0, kDevices, "", "\"none\"",
     "Where master weights and moments lie, and where they are updated.", DS_WORD(offload.optimizer.device, kDevices)},
    {"offload.optimizer.paths", K::folders, false, 0, 0, "", "", "[]",
     "Folders for device = nvme; several are striped.", DS_FIELD(offload.optimizer.paths)},
    {"offload.optimizer.pin", K::flag, false, 0, 0, "", "", "true",
     "Host memory that crosses to the device is page-locked.", DS_FIELD(offload.optimizer.pin)},
    {"offload.optimizer.buffers", K::integer, false, 2, 1024, "", "", "4",
     "Tiles under way at one time.", DS_FIELD(offload.optimizer.buffers)},
    {"offload.optimizer.tile", K::count, false, 1024, kAny, "", "", "4194304",
     "Elements of one tile.", DS_FIELD(offload.optimizer.tile)},
    {"offload.optimizer.device_share", K::count, false, 0, 100, "auto", "", "\"auto\"",
     "Percent of the tiles in host memory that the device updates, for which their states come and go; the host's cores update the rest. The bits are the same. auto: what measured rates make fastest; 0 on the CPU.",
     DS_OR_AUTO(offload.optimizer.device_share, kAuto)},
    {"offload.optimizer.update", K::choice, false, 0, 0, kUpdates, "", "\"auto\"",
     "When tiles are updated: after the step's gradients, in the order of the next forward, or during backward (undone when clipping asks for it); auto: forward.", DS_WORD(offload.optimizer.update, kUpdates)},

    {"offload.param.device", K::choice, false, 0, 0, kDevices, "", "\"none\"",
     "Stage 3: where this rank's shards of the weights lie.", DS_WORD(offload.param.device, kDevices)},
    {"offload.param.paths", K::folders, false, 0, 0, "", "", "offload.optimizer.paths",
     "Folders for device = nvme.", DS_FIELD(offload.param.paths)},
    {"offload.param.pin", K::flag, false, 0, 0, "", "", "true",
     "Host memory that crosses to the device is page-locked.", DS_FIELD(offload.param.pin)},
    {"offload.param.buffers", K::integer, false, 2, 1024, "", "", "4",
     "Shards under way at one time.", DS_FIELD(offload.param.buffers)},

    {"offload.grad.device", K::choice, false, 0, 0, kDevices, "", "\"none\"",
     "Stage 3: where this rank's sums of gradients lie.", DS_WORD(offload.grad.device, kDevices)},
    {"offload.grad.paths", K::folders, false, 0, 0, "", "", "offload.optimizer.paths",
     "Folders for device = nvme.", DS_FIELD(offload.grad.paths)},

    {"offload.activation.device", K::choice, false, 0, 0, kHostDevices, "", "\"none\"",
     "Where activations lie between forward and backward.", DS_WORD(offload.activation.device, kHostDevices)},

    {"offload.io.engine", K::choice, false, 0, 0, kEngines, "", "\"auto\"",
     "How files are read and written; auto: uring where the kernel allows it, else threads.", DS_WORD(offload.io.engine, kEngines)},
    {"offload.io.block", K::bytes, false, 4096, 1 << 30, "", "", "1048576",
     "Bytes of one request; a multiple of 4096.", DS_FIELD(offload.io.block)},
    {"offload.io.depth", K::integer, false, 1, 4096, "", "", "32",
     "Requests under way for one path.", DS_FIELD(offload.io.depth)},
    {"offload.io.checksum", K::flag, false, 0, 0, "", "", "true",
     "What is read is compared with what was written.", DS_FIELD(offload.io.checksum)},

    {"recompute.policy", K::choice, false, 0, 0, kPolicies, "", "\"none\"",
     "What backward computes again: nothing; selective: norms, activations, attention; block: all within a block; auto: the least that fits the memory.", DS_WORD(recompute.policy, kPolicies)},
};
// clang-format on

}  // namespace

std::span<const Key> memory_keys() { return kMemoryKeys; }

}  // namespace ds
