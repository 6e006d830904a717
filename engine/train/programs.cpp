// Builds the programs of a job by running all passes.
#include "engine/train/programs.h"

#include <algorithm>

#include "engine/base/units.h"
#include "engine/keep/kept_slot.h"
#include "engine/plan/work.h"
#include "engine/program/decay.h"
#include "engine/sample/decode_programs.h"
#include "engine/states/save_states.h"
#include "engine/states/saved_states.h"
#include "engine/train/state_slots.h"
#include "engine/train/trained_model.h"

namespace ds {
namespace {

Recompute recompute_of(RecomputePolicy policy) {
  switch (policy) {
    case RecomputePolicy::none:
      return Recompute::none;
    case RecomputePolicy::selective:
      return Recompute::selective;
    case RecomputePolicy::block:
      return Recompute::block;
    case RecomputePolicy::automatic:
      break;
  }
  DS_ASSERT(false, "an automatic policy is chosen before programs are made");
  return Recompute::none;
}

}  // namespace

namespace {

Tier tier_of(OffloadDevice device) {
  return device == OffloadDevice::none  ? Tier::device
         : device == OffloadDevice::cpu ? Tier::host
                                        : Tier::nvme;
}

UpdateMoment moment_of(UpdateTime time) {
  return time == UpdateTime::forward    ? UpdateMoment::forward
         : time == UpdateTime::backward ? UpdateMoment::backward
                                        : UpdateMoment::after;
}

/// Makes two alternating steps: each reads the states that the other wrote.
void add_early_steps(TrainPrograms& programs, OffloadSpec offload) {
  const Program sharded = std::move(programs.step);
  EarlyStep even = update_early(offload_states(sharded, offload), offload.overlap);
  offload.odd = true;
  EarlyStep odd = update_early(offload_states(sharded, offload), offload.overlap);
  programs.step = std::move(even.step);
  programs.redo = std::move(even.redo);
  programs.odd = std::move(odd.step);
  programs.odd_redo = std::move(odd.redo);
}

std::int64_t given(std::int64_t value, std::int64_t otherwise) {
  return value == kAuto ? otherwise : value;
}

}  // namespace

namespace {

// Cuts tiles at multiples of the O_DIRECT block, for every type.
std::int64_t tile_of(const TrainConfig& config) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;  // longer than any tensor
  return padded(std::min(config.offload.optimizer.tile, kMost));
}

}  // namespace

ShardSpec shard_spec(const TrainConfig& config, int rank, int world_size) {
  return {.rank = rank,
          .world_size = world_size,
          .virtual_ranks = static_cast<int>(config.determinism.virtual_ranks),
          .accum = static_cast<int>(config.batch.accum),
          .order = config.determinism.order == ReduceOrder::step ? ShardSpec::Order::step
                                                                 : ShardSpec::Order::boundary,
          .stage = static_cast<int>(config.zero.stage),
          .overlap = config.zero.overlap,
          .whole_tensors = config.zero.shards == ShardLayout::tensor,
          .bucket = std::min(given(config.zero.gather_bucket, INT64_MAX),
                             given(config.zero.reduce_bucket, INT64_MAX)),
          .prefetch = given(config.zero.prefetch, 1),
          .max_live = config.zero.max_live,
          .reuse_distance = config.zero.reuse_distance,
          .persist_below = config.zero.persist_below,
          .separate_master = config.offload.param.device != OffloadDevice::none,
          .state_tile =
              config.offload.optimizer.device == OffloadDevice::none ? INT64_MAX : tile_of(config),
          .update = {.type = config.optimizer.type,
                     .split_master = config.precision.master == MasterWeights::split16}};
}

namespace {

// Without a measurement the whole share goes to an accelerator, whose link is usually faster than
// the host's cores.
double device_share(const TrainConfig& config) {
  const std::int64_t percent = config.offload.optimizer.device_share;
  return percent == kAuto ? (is_accelerator(config.device) ? 1.0 : 0.0)
                          : static_cast<double>(percent) / 100.0;
}

}  // namespace

OffloadSpec offload_spec(const TrainConfig& config) {
  return {.states = tier_of(config.offload.optimizer.device),
          .weights = tier_of(config.offload.param.device),
          .gradients = tier_of(config.offload.grad.device),
          .tile = tile_of(config),
          .buffers = static_cast<int>(config.offload.optimizer.buffers),
          .overlap = config.zero.overlap,
          .device_share = device_share(config),
          .time = moment_of(config.offload.optimizer.update)};
}

namespace {

/// A sample is one text, which sees as much as a sequence of training. Of a model with an encoder,
/// whose positions are distances, all of it is seen.
DecodeShape decode_shape(const TrainConfig& config, const ModelShape& shape) {
  const std::int64_t encoder_len = shape.fields.encoder_len;
  return {.room = encoder_len > 0 ? config.sample.tokens : shape.seq_len,
          .positions = shape.seq_len,
          .piece = piece_of(shape.seq_len, shape.seq_len),
          .valid_vocab = shape.valid_vocab,
          .act = act_of(config.precision.dtype),
          .encoder_len = encoder_len};
}

}  // namespace

ModelShape forward_shape(const TrainConfig& config) {
  return {.micro = config.batch.micro,
          .seq_len = config.data.seq_len,
          .valid_vocab = config.model.tokens,
          .act = act_of(config.precision.dtype),
          .head = is_accelerator(config.device) ? kAcceleratorChunk : HeadChunk{},
          .few_targets = learns_few(config.data.task),
          .fields = config.data.fields};
}

TrainPrograms make_programs(const TrainConfig& config, int rank, int world_size,
                            const PassSeen& seen) {
  const ModelShape shape = forward_shape(config);
  ModelShape training = shape;
  training.dropout = config.model.dropout;
  const auto show = [&](const char* pass, const Program& program) {
    if (seen) seen(pass, program);
  };
  const auto built = [&](const ModelShape& of, double dropout = 0) {
    return trained_model(config, of, dropout);
  };
  TrainPrograms programs;
  programs.spec = shard_spec(config, rank, world_size);
  const ShardSpec& spec = programs.spec;
  const OffloadSpec offload = offload_spec(config);
  const auto for_use = [&](const Program& program) {
    return offload_weights(shard_forward(program, spec), spec, offload);
  };
  programs.validation = for_use(built(shape));
  if (config.sample.tokens > 0) {
    const DecodePrograms made = build_decode(built, decode_shape(config, shape));
    programs.prefill = for_use(made.prefill);
    programs.decode = for_use(made.step);
  }
  const Program forward =
      without_decay(built(training, config.lora.dropout), config.optimizer.no_decay);
  show("build", forward);
  const Program differentiated = differentiate(forward);
  show("differentiate", differentiated);
  const auto tokens = static_cast<double>(training.micro * training.seq_len);
  programs.flops_per_token = flops_of(differentiated, 0) / tokens;
  programs.flops_per_target = flops_of(differentiated) / tokens - programs.flops_per_token;
  Program whole = recompute(differentiated, recompute_of(config.recompute.policy),
                            config.device.epilogues == Epilogues::fused);
  show("recompute", whole);
  if (config.offload.activation.device == OffloadDevice::cpu) {
    whole = offload_activations(whole, {.overlap = spec.overlap});
    show("offload_activations", whole);
  }
  programs.step = shard(whole, spec);
  show("shard", programs.step);
  programs.step = offload_weights(std::move(programs.step), spec, offload);
  programs.step = offload_gradients(std::move(programs.step), offload);
  if (offload.time == UpdateMoment::backward) {
    add_early_steps(programs, offload);
  } else {
    programs.step = offload_states(std::move(programs.step), offload);
  }
  show("offload", programs.step);
  if (config.offload.optimizer.update == UpdateTime::forward) {
    RotatedStep forms = rotate(programs.step, offload.overlap);
    programs.step = std::move(forms.next);
    programs.first = std::move(forms.first);
    programs.flush = std::move(forms.flush);
    show("rotate", programs.step);
  }
  if (is_accelerator(config.device)) {
    for (Program* const program : programs.all_to_change())
      *program = for_accelerator(std::move(*program));
    show("accelerator", programs.step);
  }
  const bool keeps = config.elastic.keeps;
  if (config.checkpoint.saves() || keeps)
    programs.saver = {
        .tier = is_accelerator(config.device) ? Tier::pinned_host : Tier::host,
        .keeps_snapshot = keeps || (config.checkpoint.is_periodic() && config.checkpoint.async)};
  programs.kept = {
      .count = config.elastic.slots(),
      .tier = config.offload.optimizer.device == OffloadDevice::nvme ? Tier::nvme : Tier::host};
  programs.digest = hash_of_global_program(whole, spec);
  for (const Program* program : programs.all()) verify(*program);
  return programs;
}

namespace {

/// Collects all programs, as constant or as mutable pointers.
template <class Element, class Programs>
std::vector<Element*> all_of(Programs& of) {
  std::vector<Element*> programs{&of.step, &of.validation};
  for (auto* program :
       {&of.prefill, &of.decode, &of.first, &of.flush, &of.odd, &of.redo, &of.odd_redo})
    if (*program) programs.push_back(&**program);
  return programs;
}

}  // namespace

std::vector<Program*> TrainPrograms::all_to_change() { return all_of<Program>(*this); }

std::vector<const Program*> TrainPrograms::all() const { return all_of<const Program>(*this); }

std::int64_t kept_slot_bytes(const TrainPrograms& programs) {
  return KeptSlot::bytes_for(layout_of(programs.step, programs.spec),
                             {.tensors = saved_tensors(programs.step, programs.spec)});
}

PlacementPlan place_programs(const TrainPrograms& programs, const WorkspaceBytes& workspace) {
  std::size_t scratch = workspace(programs.step.extents);
  for (const auto* program : {&programs.prefill, &programs.decode})
    if (*program) scratch = std::max(scratch, workspace((*program)->extents));
  PlacementPlan plan = place(programs.all(), static_cast<std::int64_t>(scratch));
  if (programs.saver) {
    const std::vector<SavedTile> tiles = saved_tiles(programs.step, programs.spec);
    add_snapshot(plan.of(programs.saver->tier),
                 (programs.saver->keeps_snapshot ? snapshot_bytes_of(tiles) : 0) +
                     writer_bytes_of(programs.step, tiles),
                 programs.saver->keeps_snapshot ? "snapshot" : "save buffers");
    if (programs.saver->keeps_snapshot)
      add_snapshot(plan.of(Tier::nvme), spare_slot_bytes(programs.step, programs.spec),
                   "spare slots");
  }
  if (programs.kept.count > 0)
    add_kept(plan.of(programs.kept.tier), programs.kept.count * kept_slot_bytes(programs));
  return plan;
}

void require_fit(const PlacementPlan& plan, const Device& device, int rank) {
  const std::int64_t bytes = plan.device().total_bytes;
  const auto available = static_cast<std::int64_t>(device.free_bytes(Tier::device));
  if (bytes <= available) return;
  throw Error(ErrorKind::config,
              fmt::format("the model does not fit: rank {} needs {}, but only {} are free", rank,
                          format_bytes(bytes), format_bytes(available)),
              "dslaunch plan shows what would fit");
}

}  // namespace ds
