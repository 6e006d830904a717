// Rows for zero_optimization, offload and file I/O.
#include "engine/deepspeed/keys.h"

namespace ds {
namespace {

using F = DsFate;
constexpr std::string_view kGraph = "a matter of Python modules, which are not here";
constexpr std::string_view kFetch = "chooses how PyTorch fetches the same values";
// clang-format off
const DsKey kZeroKeys[] = {
    {.path = "zero_optimization.stage", .fate = F::mapped, .toml = "zero.stage", .text = "", .copied = true},
    {.path = "zero_optimization.allgather_bucket_size", .fate = F::mapped, .toml = "zero.gather_bucket", .text = "Elements, as in DeepSpeed.", .copied = true},
    {.path = "zero_optimization.reduce_bucket_size", .fate = F::mapped, .toml = "zero.reduce_bucket", .text = "Elements. \"auto\": hidden * hidden, as transformers; where hidden is unknown, the plan chooses."},
    {.path = "zero_optimization.overlap_comm", .fate = F::mapped, .toml = "zero.overlap", .text = "", .copied = true},
    {"zero_optimization.stage3_prefetch_bucket_size", F::mapped, "zero.prefetch", "Elements. \"auto\" at stage 3: 0.9 * hidden * hidden, as transformers; where hidden is unknown, the plan chooses."},
    {"zero_optimization.stage3_param_persistence_threshold", F::mapped, "zero.persist_below", "Elements; DeepSpeed compares single tensors, dslaunch groups. \"auto\" at stage 3: 10 * hidden, as transformers."},
    {.path = "zero_optimization.stage3_max_live_parameters", .fate = F::mapped, .toml = "zero.max_live", .text = "Elements.", .copied = true},
    {.path = "zero_optimization.stage3_max_reuse_distance", .fate = F::mapped, .toml = "zero.reuse_distance", .text = "Elements.", .copied = true},
    {.path = "zero_optimization.prefetch_bucket_size", .fate = F::mapped, .toml = "zero.prefetch", .text = "Another name of stage3_prefetch_bucket_size.", .copied = true},
    {.path = "zero_optimization.param_persistence_threshold", .fate = F::mapped, .toml = "zero.persist_below", .text = "Another name of stage3_param_persistence_threshold.", .copied = true},
    {.path = "zero_optimization.max_live_parameters", .fate = F::mapped, .toml = "zero.max_live", .text = "Another name of stage3_max_live_parameters.", .copied = true},
    {.path = "zero_optimization.max_reuse_distance", .fate = F::mapped, .toml = "zero.reuse_distance", .text = "Another name of stage3_max_reuse_distance.", .copied = true},

    {"zero_optimization.offload_optimizer.device", F::mapped, "offload.optimizer.device", "none, cpu or nvme, at any stage.", "", "", true},
    {"zero_optimization.offload_optimizer.nvme_path", F::mapped, "offload.optimizer.paths", "A list of one folder; train.toml can stripe over several. Counts with device = nvme."},
    {"zero_optimization.offload_optimizer.pin_memory", F::mapped, "offload.optimizer.pin", "", "", "", true},
    {"zero_optimization.offload_optimizer.ratio", F::mapped, "offload.optimizer.device_share", "Less than 1: the device updates the other tiles, in percent."},
    {"zero_optimization.offload_optimizer.buffer_count", F::no_matter, "", "counts states of one parameter; offload.optimizer.buffers counts tiles in flight"},
    {"zero_optimization.offload_optimizer.pipeline_read", F::always, "", "tiles are read ahead while others are updated"},
    {"zero_optimization.offload_optimizer.pipeline_write", F::always, "", "tiles are written while others are updated"},
    {"zero_optimization.offload_optimizer.fast_init", F::no_matter, "", "states are made where they will lie"},
    {"zero_optimization.offload_optimizer.super_offload", F::no_matter, "", "offload.optimizer.update = \"backward\" updates during the backward pass"},
    {"zero_optimization.offload_optimizer.cpuadam_cores_perc", F::no_matter, "", "device.threads sets the threads of a rank"},
    {"zero_optimization.offload_param.device", F::mapped, "offload.param.device", "Stage 3 only.", "", "", true},
    {"zero_optimization.offload_param.nvme_path", F::mapped, "offload.param.paths", "As offload_optimizer.nvme_path."},
    {"zero_optimization.offload_param.pin_memory", F::mapped, "offload.param.pin", "", "", "", true},
    {"zero_optimization.offload_param.buffer_count", F::no_matter, "", "buffers have the size that the plan computes"},
    {"zero_optimization.offload_param.buffer_size", F::no_matter, "", "buffers have the size that the plan computes"},
    {"zero_optimization.offload_param.max_in_cpu", F::no_matter, "", "buffers have the size that the plan computes"},
    {"zero_optimization.cpu_offload", F::mapped, "offload.optimizer.device", "Old form of offload_optimizer: true: cpu."},
    {"zero_optimization.cpu_offload_param", F::mapped, "offload.param.device", "Old form of offload_param: true: cpu."},
    {"zero_optimization.cpu_offload_use_pin_memory", F::no_matter, "", "DeepSpeed ignores it; offload.optimizer.pin is true"},
    {"zero_optimization.sub_group_size", F::no_matter, "", "states are updated in tiles of offload.optimizer.tile elements; 4 tiles of DeepSpeed's 1e9 would take 48 GB"},

    {"zero_optimization.allgather_partitions", F::always, "", "weights are gathered by all-gather"},
    {"zero_optimization.reduce_scatter", F::always, "", "gradients are reduce-scattered"},
    {"zero_optimization.contiguous_gradients", F::always, "", "gradients lie in one planned buffer"},
    {"zero_optimization.use_multi_rank_bucket_allreduce", F::always, "", "one collective serves all ranks"},
    {"zero_optimization.compute_grad_norm", F::always, "", "the norm of each step is computed and logged"},
    {"zero_optimization.load_from_fp32_weights", F::always, "", "checkpoints hold fp32 master weights"},
    {"zero_optimization.elastic_checkpoint", F::always, "", "checkpoints resume at any number of ranks"},
    {"zero_optimization.round_robin_gradients", F::always, "", "every rank copies an even share"},
    {"zero_optimization.parameter_alignment", F::always, "", "tensors are aligned"},
    {"zero_optimization.stage3_gather_16bit_weights_on_model_save", F::no_matter, "", "dslaunch export CHECKPOINT OUT --dtype bf16 writes the whole model"},
    {"zero_optimization.gather_16bit_weights_on_model_save", F::no_matter, "", "dslaunch export CHECKPOINT OUT --dtype bf16 writes the whole model"},
    {"zero_optimization.stage3_gather_fp16_weights_on_model_save", F::no_matter, "", "dslaunch export CHECKPOINT OUT --dtype fp16 writes the whole model"},
    {"zero_optimization.stage3_model_persistence_threshold", F::no_matter, "", "limits memory; zero.persist_below chooses what stays whole"},
    {"zero_optimization.model_persistence_threshold", F::no_matter, "", "limits memory; zero.persist_below chooses what stays whole"},
    {"zero_optimization.stage3_module_granularity_threshold", F::no_matter, "", kFetch},
    {"zero_optimization.module_granularity_threshold", F::no_matter, "", kFetch},
    {"zero_optimization.stage3_use_all_reduce_for_fetch_params", F::no_matter, "", kFetch},
    {"zero_optimization.use_all_reduce_for_fetch_params", F::no_matter, "", kFetch},
    {"zero_optimization.stage3_allgather_sequential", F::no_matter, "", kFetch},
    {"zero_optimization.allgather_sequential", F::no_matter, "", kFetch},
    {"zero_optimization.ignore_unused_parameters", F::no_matter, "", "every weight of the models here is used"},
    {"zero_optimization.legacy_stage1", F::no_matter, "", "the old stage 1 computes the same"},
    {"zero_optimization.grad_hooks", F::no_matter, "", kGraph},
    {"zero_optimization.memory_efficient_linear", F::no_matter, "", kGraph},
    {"zero_optimization.pipeline_loading_checkpoint", F::no_matter, "", "every rank reads only the pieces that it holds"},
    {"zero_optimization.override_module_apply", F::no_matter, "", kGraph},
    {"zero_optimization.log_trace_cache_warnings", F::no_matter, "", "the order of gathers is planned, and there is no trace"},
    {"zero_optimization.enable_sanity_checks", F::always, "", "the program is checked before every job"},
    {"zero_optimization.save_muon_momentum_buffer_in_memory", F::no_matter, "", "belongs to Muon"},
    {.path = "zero_optimization.leaf_module", .fate = F::no_matter, .text = kGraph, .parts = "classes names name_suffixes"},
    {"zero_optimization.zero_hpz_partition_size", F::no_matter, "", "a second copy of the weights in each node saves traffic and changes no value; dslaunch makes none"},
    {"zero_optimization.mics_shard_size", F::no_matter, "", "DeepSpeed has removed MiCS; shards span all ranks here, with the same values"},
    {"zero_optimization.mics_hierarchical_params_gather", F::no_matter, "", "DeepSpeed has removed MiCS"},
    {"zero_optimization.zero_quantized_weights", F::refused, "", "weights are never sent in 8 bits; set it to false", "false"},
    {"zero_optimization.zero_quantized_nontrainable_weights", F::refused, "", "frozen weights are never stored in 8 bits; set it to false", "false"},
    {"zero_optimization.zero_quantized_gradients", F::refused, "", "gradients are never sent in 4 bits; set it to false", "false"},
    {"zero_optimization.zeropp_loco_param", F::refused, "", "belongs to gradients sent in 4 bits, which dslaunch does not have, and DeepSpeed has removed it; leave it out", "", "err_beta reset_T"},
    {"zero_optimization.zenflow", F::refused, "", "ZenFlow updates some weights late, with other results; leave it out, and offload.optimizer.update = \"forward\" hides the update without changing results", "", "topk_ratio select_strategy select_interval update_interval overlap_step offload auto_ratio full_warm_up_rounds pt_reserved_cores_perc steps_per_epoch"},
    {"zero_optimization.allgather_size", F::no_matter, "", "belongs to an old form of the file"},
    {"allgather_size", F::no_matter, "", "belongs to an old form of the file, in which zero_optimization is true or false"},

    {.path = "aio.block_size", .fate = F::mapped, .toml = "offload.io.block", .text = "Bytes.", .copied = true},
    {.path = "aio.queue_depth", .fate = F::mapped, .toml = "offload.io.depth", .text = "", .copied = true},
    {"aio.intra_op_parallelism", F::no_matter, "", "one ring serves a rank; offload.io.depth sets its depth"},
    {"aio.thread_count", F::no_matter, "", "one ring serves a rank; offload.io.depth sets its depth"},
    {"aio.single_submit", F::no_matter, "", "io_uring submits in batches"},
    {"aio.overlap_events", F::no_matter, "", "io_uring submits and waits at the same time"},
    {"aio.use_gds", F::no_matter, "", "files are read into page-locked host memory"},
};
// clang-format on

}  // namespace

std::span<const DsKey> ds_zero_keys() { return kZeroKeys; }

}  // namespace ds
