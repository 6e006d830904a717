// Rows for parallelism, recomputation, checkpoints, logs, tuning, and what DeepSpeed has removed.
#include "engine/deepspeed/keys.h"

namespace ds {
namespace {

using F = DsFate;
constexpr std::string_view kFigures =
    "metrics.jsonl in the run's folder has the figures of every step";
constexpr std::string_view kRemoved =
    "changes what is trained, and DeepSpeed has removed it; leave it out";
// clang-format off
const DsKey kOtherKeys[] = {
    {.path = "tensor_parallel", .fate = F::refused, .text = "dslaunch does not split tensors among ranks; leave it out and use zero.stage = 3 for models larger than a device", .harmless = "@autotp_size", .parts = "dtype autotp_size tp_overlap_comm vocab_parallel_lm_head vocab_parallel_ce_backend tensor_parallel.tp_size tensor_parallel.tp_grain_size tensor_parallel.mpu tensor_parallel.tp_group tp.tp_size tp.tp_grain_size tp.mpu tp.tp_group injection_policy_tuple partition_config.** partition_config.tp_size partition_config.embedding_partition_dim partition_config.lm_head_patterns partition_config.use_default_specs partition_config.strict_mode partition_config.layer_specs.** preset_model keep_module_on_host replace_with_kernel_inject kernel_inject"},
    {.path = "expert_parallel", .fate = F::refused, .text = "the models here have no experts; leave it out", .harmless = "@off", .parts = "enabled autoep_size expert_tensor_parallel_size validate_folding_routing async_split_plan preset_model moe_layer_pattern expert_pattern router_pattern use_grouped_mm disable_triton_grouped_mm route_norm route_scale score_apply combine_impl row_weighting_impl gate_up_impl comm_backend comm_num_sm comm_qp_margin comm_max_tokens_per_rank load_balance_coeff num_expert_groups num_limited_groups score_func top_k routed_scaling_factor expert_w1 expert_w2 expert_w3 num_experts_attr top_k_attr has_shared_experts shared_experts_pattern shared_experts_gate_pattern expert_activation"},
    {"use_data_before_expert_parallelism", F::no_matter, "", "the models here have no experts"},
    {"sequence_parallel_size", F::refused, "", "dslaunch does not split sequences among ranks; set it to 1", "1"},
    {"data_parallel_size", F::no_matter, "", "all ranks are data-parallel; their number is that of the job"},
    {.path = "pipeline", .fate = F::no_matter, .text = "only a PipelineModule reads it; the models here have one stage", .parts = "stages partition seed_layers activation_checkpoint_interval pipe_partitioned grad_partitioned"},
    {.path = "activation_checkpointing", .fate = F::no_matter, .text = "takes effect where a script calls deepspeed.checkpointing; recompute.policy and offload.activation.device save the same memory", .parts = "partition_activations contiguous_memory_optimization cpu_checkpointing number_checkpoints profile synchronize_checkpoint_boundary"},
    {.path = "compile", .fate = F::no_matter, .text = "compiles Python; programs here are compiled before they start", .parts = "deepcompile autoep_non_moe free_activation free_activation_threshold offload_activation offload_activation_pin_memory offload_opt_states double_buffer symmetric_memory debug_log offload_parameters sync_before_reduce sync_after_reduce sync_before_allgather sync_after_allgather keep_int_input_tensors keep_all_input_tensors passes"},
    {.path = "hybrid_engine", .fate = F::refused, .text = "there is no generation within training here; leave it out", .harmless = "@off", .parts = "enabled max_out_tokens inference_tp_size release_inference_cache pin_parameters tp_gather_partition_size enable_cuda_graph"},
    {.path = "weight_quantization", .fate = F::refused, .text = "weights are never quantized; leave it out", .parts = "enabled num_bits q_type q_groups quantized_initialization.** post_init_quant.**"},
    {.path = "data_efficiency", .fate = F::refused, .text = "curricula, batches of varying size and dropped tokens change the data; leave it out", .harmless = "@off", .parts = "enabled seed data_sampling.enabled data_sampling.num_epochs data_sampling.num_workers data_sampling.pin_memory data_sampling.curriculum_learning.enabled data_sampling.curriculum_learning.data_cluster_path data_sampling.curriculum_learning.curriculum_metrics.*.min_difficulty data_sampling.curriculum_learning.curriculum_metrics.*.max_difficulty data_sampling.curriculum_learning.curriculum_metrics.*.schedule_type data_sampling.curriculum_learning.curriculum_metrics.*.schedule_config.** data_sampling.curriculum_learning.curriculum_metrics.*.difficulty_type data_sampling.curriculum_learning.curriculum_metrics.*.clustering_type data_sampling.curriculum_learning.curriculum_metrics.*.index_to_sample_path data_sampling.curriculum_learning.curriculum_metrics.*.index_to_metric_path data_sampling.dynamic_batching.enabled data_sampling.dynamic_batching.metrics_path data_sampling.dynamic_batching.lr_scaling_method data_sampling.dynamic_batching.min_batch_size data_sampling.dynamic_batching.max_batch_size data_sampling.dynamic_batching.max_tokens data_sampling.dynamic_batching.sequence_picking_order data_sampling.dynamic_batching.verbose data_routing.enabled data_routing.random_ltd.enabled data_routing.random_ltd.total_layer_num data_routing.random_ltd.random_ltd_layer_num data_routing.random_ltd.random_ltd_layer_id data_routing.random_ltd.model_mask_name data_routing.random_ltd.model_type data_routing.random_ltd.micro_batch_size data_routing.random_ltd.global_batch_size data_routing.random_ltd.hidden_state_order data_routing.random_ltd.layer_token_lr_schedule.** data_routing.random_ltd.random_ltd_schedule.**"},

    {.path = "checkpoint.use_node_local_storage", .fate = F::refused, .text = "checkpoint.dir is one folder that all nodes share; set it to false", .harmless = "false"},
    {"checkpoint.tag_validation", F::always, "", "all ranks agree on the step that is saved"},
    {"checkpoint.load_universal", F::always, "", "checkpoints resume at any number of ranks"},
    {"checkpoint.checkpoint_serialization", F::no_matter, "", "checkpoints have dslaunch's format"},
    {.path = "checkpoint.parallel_write", .fate = F::always, .text = "every rank writes its share", .parts = "pipeline_stage"},
    {.path = "checkpoint.writer", .fate = F::no_matter, .text = "checkpoints are written beside training; checkpoint.rate limits the rate", .parts = "type io_buffer_size io_buffer_double show_statistics data_parallel decoupled io_multiplier"},
    {"datastates_ckpt", F::always, "", "checkpoints are copied in memory and written while training continues"},

    {"wall_clock_breakdown", F::no_matter, "", "metrics.jsonl in the run's folder takes every step apart; log.phases = false turns it off"},
    {"memory_breakdown", F::no_matter, "", "dslaunch plan prints the memory of a rank, byte by byte"},
    {"dump_state", F::no_matter, "", "the run's folder contains the resolved config.toml"},
    {"log_level", F::no_matter, "", "a matter of Python's loggers"},
    {"disable_python_gc", F::no_matter, "", "there is no Python here"},
    {.path = "timers", .fate = F::no_matter, .text = kFigures, .parts = "throughput.enabled throughput.synchronized"},
    {"tensorboard.enabled", F::mapped, "log.tensorboard", "true: event files in output_path/job_name; where the JSON gives neither, in the run's folder. They have DeepSpeed's figures and those of dslaunch (metrics.md)."},
    {"tensorboard.output_path", F::mapped, "log.tensorboard", "The first part of the folder."},
    {"tensorboard.job_name", F::mapped, "log.tensorboard", "The second part of the folder; DeepSpeedJobName where only output_path is given."},
    {"csv_monitor.enabled", F::mapped, "log.csv", "true: one file metrics.csv in output_path/job_name, instead of a file for each figure; where the JSON gives neither, in the run's folder."},
    {"csv_monitor.output_path", F::mapped, "log.csv", "The first part of the folder."},
    {"csv_monitor.job_name", F::mapped, "log.csv", "The second part of the folder; DeepSpeedJobName where only output_path is given."},
    {.path = "wandb", .fate = F::no_matter, .text = kFigures, .parts = "enabled group team project"},
    {.path = "comet", .fate = F::no_matter, .text = kFigures, .parts = "enabled samples_log_interval project workspace api_key experiment_name experiment_key online mode"},
    {.path = "comms_logger", .fate = F::no_matter, .text = "dslaunch plan prints the traffic of a step", .parts = "enabled prof_all prof_ops verbose debug"},
    {.path = "flops_profiler", .fate = F::no_matter, .text = "dslaunch plan prints the FLOPs of a step; log.trace records the time and FLOPs of each op", .parts = "enabled recompute_fwd_factor profile_step module_depth top_modules detailed output_file"},
    {.path = "autotuning", .fate = F::refused, .text = "there are no trial runs here; leave it out: dslaunch plan prints the largest micro-batch that fits", .harmless = "@off", .parts = "enabled fast results_dir exps_dir overwrite start_profile_step end_profile_step metric metric_path tuner_type tuner_early_stopping tuner_num_trials arg_mappings.** model_info.** model_info_path mp_size max_train_batch_size min_train_batch_size max_train_micro_batch_size_per_gpu min_train_micro_batch_size_per_gpu num_tuning_micro_batch_sizes"},

    {.path = "elasticity", .fate = F::refused, .text = "DeepSpeed has removed it; leave it out: with determinism.virtual_ranks a job keeps its batch at every number of ranks", .harmless = "@off", .parts = "enabled max_train_batch_size micro_batch_sizes min_gpus max_gpus min_time version prefer_larger_batch ignore_non_elastic_batch_info num_gpus_per_node model_parallel_size"},
    {"curriculum_learning", F::refused, "", kRemoved, "@off"},
    {"progressive_layer_drop", F::refused, "", kRemoved, "@off"},
    {"eigenvalue", F::refused, "", kRemoved, "@off"},
    {"quantize_training", F::refused, "", kRemoved, "@off"},
    {"compression_training", F::refused, "", kRemoved},
    {"sparse_attention", F::refused, "", kRemoved},
    {"nebula", F::no_matter, "", "DeepSpeed has removed it; checkpoints are written beside training"},
    {"graph_harvesting", F::no_matter, "", "DeepSpeed has removed it; device.graphs issues steps as CUDA graphs"},
};
// clang-format on

}  // namespace

std::span<const DsKey> ds_other_keys() { return kOtherKeys; }

}  // namespace ds
