// The phases of a rank: build, place, agree, allocate, initialize, step, validate.
#include "engine/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/base/token_numbers.h"
#include "engine/comm/notes.h"
#include "engine/config/print.h"
#include "engine/config/sample_prompt.h"
#include "engine/data/byte_tokens.h"
#include "engine/monitor/memory_status.h"
#include "engine/program/check_edges.h"
#include "engine/sample/generate.h"
#include "engine/states/state_files.h"
#include "engine/states/weights.h"
#include "engine/train/build_id.h"
#include "engine/train/evaluate.h"
#include "engine/train/own_facts.h"
#include "engine/train/state_slots.h"

namespace ds {

Trainer::Trainer(const TrainConfig& config, Backend& backend, const RankGroups& groups,
                 const DataSet& data)
    : config_(config),
      backend_(backend),
      world_(*groups.world),
      data_(data),
      held_out_(data.held_out()),
      arithmetic_(arithmetic_of(config, backend, data)),
      programs_(make_programs(config, world_.rank(), world_.size())),
      plan_(place_programs(programs_, workspace_of(*backend.kernels))),
      batch_{.micro = config.batch.micro,
             .accum = config.batch.accum,
             .virtual_ranks = config.determinism.virtual_ranks},
      control_(config),
      fault_(parse_planted_fault(config.debug.non_finite).value_or(PlantedFault{})),
      places_(static_cast<std::size_t>(config.batch.micro)) {
  agree();
  // From here on, all ranks run the same global program.
  require_fit(plan_, *backend.device, world_.rank());
  anonymous_before_ = read_memory_status().anonymous_bytes;
  memory_.emplace(plan_, groups, backend,
                  open_state_files(config.offload, world_.rank(), plan_.of(Tier::nvme).total_bytes,
                                   state_slots(programs_, plan_)));
  leaf_sums_.emplace(parameters() / kLeaf, backend.host_threads);
  if (programs_.saver && programs_.saver->keeps_snapshot) {
    // The other half of the threads computes.
    snapshot_.emplace(*backend.device, memory_->held(), memory_->snapshot(),
                      (backend.host_threads + 1) / 2);
  }
  // A later epoch begins quickly, and its disk has been measured.
  if (memory_->files() != nullptr)
    storage_ = world_.spec().epoch == 0 ? measure_state_files(*memory_->files())
                                        : memory_->files()->description();
  bind_all();
  taken_.reserve(programs_.step.micro_batches.size() * places_.size());
  start_loader();
  if (config.log.phases) context_.phases = &clock_;
  context_.on_control = [this](StepContext& context) { draw_decision(context); };
}

void Trainer::bind_all() {
  std::size_t index = 0;
  const auto bind = [&](std::optional<Executor>& executor, const Program& program) {
    const std::vector<std::int64_t>& offsets = plan_.offsets[index++];
    const Edges edges = edges_of(program, offsets);
    const std::optional<std::string> missing = missing_edge(program, offsets, edges);
    if (missing) throw Error(ErrorKind::bug, *missing);
    Workplace place = memory_->workplace();
    place.records = config_.device.graphs == UseGraphs::on ||
                    (config_.device.graphs == UseGraphs::automatic && recording_pays(program));
    executor.emplace(program, offsets, edges, backend_, place);
  };
  const auto bind_some = [&](std::optional<Executor>& executor,
                             const std::optional<Program>& program) {
    if (program) bind(executor, *program);
  };
  bind(step_executor_, programs_.step);
  bind(validation_executor_, programs_.validation);
  bind_some(prefill_executor_, programs_.prefill);
  bind_some(decode_executor_, programs_.decode);
  bind_some(first_executor_, programs_.first);
  bind_some(flush_executor_, programs_.flush);
  bind_some(odd_executor_, programs_.odd);
  bind_some(redo_executor_, programs_.redo);
  bind_some(odd_redo_executor_, programs_.odd_redo);
}

void Trainer::agree() const {
  const Deadline deadline = Deadline::after(context_.comm_timeout);
  require_agreement(world_, "build", build_id(), deadline);
  require_agreement(world_, "settings that decide bits", digest_of(arithmetic_), deadline);
  require_agreement(world_, "training program", programs_.digest, deadline);
}

StepReport Trainer::step(const StepWishes& wishes) {
  wishes_ = wishes;
  choose_program();
  context_.seed = static_cast<std::uint64_t>(config_.train.seed);
  {
    const InPhase phase(context_.phases, StepPhase::data);
    load_batches();
  }
  if (step_ + 1 < config_.train.steps) loader_->begin(finished_samples() + batch_.global());
  const double scale = control_.loss_scale();
  context_.step = static_cast<std::uint64_t>(step_);
  context_.loss_scale = static_cast<float>(scale);
  if (is_planted()) watch_for_plant();
  if (programs_.odd) guess_update();
  executor_->run(context_);
  if (is_refused_) report_non_finite();
  if (programs_.odd) correct_update();
  update_is_due_ = programs_.flush.has_value();
  context_.after_op = nullptr;
  ++step_;
  const std::int64_t tokens = batch_.global() * config_.data.seq_len;
  return {.step = step_,
          .loss = decision_.loss,
          .grad_norm = context_.update.grad_norm,
          .lr = decision_.all.lr,
          .loss_scale = scale,
          .skipped = control_.skipped(),
          .redone = redone_updates_,
          .tokens = tokens,
          .flops = flops_of_step(tokens, decision_.all.tokens),
          .samples = finished_samples(),
          .phases = phases_,
          .slowest = decision_.all.slowest,
          .stop = decision_.all.wish_stop,
          .pause = decision_.all.wish_pause,
          .save = decision_.all.wish_save,
          .time_to_save = decision_.all.time_to_save,
          .time_to_keep = decision_.all.time_to_keep,
          .save_written = decision_.all.save_written,
          .save_failed = decision_.all.save_failed,
          .save_over = decision_.all.save_over,
          .kept = decision_.all.kept,
          .keep_failed = decision_.all.keep_failed};
}

void Trainer::start_loader() {
  const auto delay = parse_planted_delay(config_.debug.slow_data).value_or(PlantedDelay{});
  std::vector<std::span<const BatchInput>> inputs;
  for (std::size_t micro = 0; micro < programs_.step.micro_batches.size(); ++micro)
    inputs.push_back(step_executor_->inputs(micro));
  const BatchLoader::Source source{
      .data = *data_.train,
      .batch = batch_,
      .seed = static_cast<std::uint64_t>(config_.train.seed),
      .delay = delay.rank == world_.rank() ? delay.span : std::chrono::milliseconds()};
  loader_.emplace(source, programs_.step.micro_batches, inputs);
}

void Trainer::load_batches() {
  loader_->wait(finished_samples());
  for (std::size_t micro = 0; micro < program_->micro_batches.size(); ++micro)
    loader_->copy(micro, executor_->inputs(micro));
  taken_.assign(loader_->taken().begin(), loader_->taken().end());
}

// Each rank contributes the sums of the leaves of its own slice.
ControlWord Trainer::own_word() {
  ControlWord word{.rank = world_.rank(),
                   .step = step_,
                   .epoch = world_.spec().epoch,
                   .wish_save = wishes_.save,
                   .wish_stop = wishes_.stop,
                   .wish_pause = wishes_.pause,
                   .save_written = wishes_.save_written,
                   .save_failed = wishes_.save_failed,
                   .kept = wishes_.kept,
                   .keep_failed = wishes_.keep_failed,
                   .save_over = wishes_.save_over,
                   .time_to_save = wishes_.time_to_save,
                   .time_to_keep = wishes_.time_to_keep};
  for (const MicroBatch& micro : program_->micro_batches) {
    word.loss.add(*static_cast<const double*>(executor_->tensor(micro.loss).data));
    word.tokens += *static_cast<const std::int64_t*>(executor_->tensor(micro.count).data);
  }
  for (const Op& op : program_->ops) {
    if (!is<ops::LeafSquares>(op)) continue;
    leaf_sums_->add(numbers<double>(op.out[0]), word.norm_squared);
    word.non_finite += leaf_sums_->total(numbers<std::int64_t>(op.out[1]));
  }
  if (world_.rank() != 0) return word;
  const ScheduledNumbers scheduled = control_.scheduled();
  word.lr = scheduled.lr;
  word.bias_correction1 = scheduled.bias_correction1;
  word.bias_correction2 = scheduled.bias_correction2;
  return word;
}

template <class T>
std::span<const T> Trainer::numbers(ValueId id) const {
  const Tensor tensor = executor_->tensor(id);
  return {static_cast<const T*>(tensor.data), static_cast<std::size_t>(tensor.elements())};
}

StepDecision Trainer::exchange(const ControlWord& word) {
  world_.about("control");
  return decide_together(world_, word, Deadline::after(context_.comm_timeout));
}

double Trainer::validate(const HeldOut& set) {
  flush();
  PhaseClock* const clock = std::exchange(context_.phases, nullptr);
  const InPhase phase(clock, StepPhase::validation);
  const LossSum sum = sum_losses(*set.part, validation_rows(*set.part, !set.name.empty(), config_),
                                 {.model = {programs_.validation, *validation_executor_},
                                  .context = context_,
                                  .places = places_,
                                  .rank = world_.rank(),
                                  .ranks = world_.size(),
                                  .all_run = programs_.spec.stage == 3});
  context_.phases = clock;
  const StepDecision joined = exchange({.rank = world_.rank(),
                                        .step = step_,
                                        .epoch = world_.spec().epoch,
                                        .loss = sum.loss,
                                        .tokens = sum.targets});
  return joined.all.tokens == 0 ? std::numeric_limits<double>::quiet_NaN() : joined.loss;
}

std::string Trainer::sample() {
  flush();
  DS_ASSERT(programs_.prefill && programs_.decode);
  const SampleConfig& sample = config_.sample;
  Decoder decoder({*programs_.prefill, *prefill_executor_}, {*programs_.decode, *decode_executor_});
  const bool has_text = config_.data.tokenizer == "bytes";
  const GenerateRequest request{
      .prompts = {sample_prompt(config_, data_.tokenizer.get())},
      .length = sample.tokens,
      .choice = {.temperature = sample.temperature, .top_k = sample.top_k},
      .seed = static_cast<std::uint64_t>(sample.seed),
      .valid_vocab = config_.model.tokens,
      .slides = true};
  const std::vector<std::int32_t> made = generate(decoder, request).front().tokens;
  if (has_text) return sample.prompt + decode_bytes(made);
  if (data_.tokenizer) return sample.prompt + data_.tokenizer->decode(made);
  return sample.prompt + " " + text_of_tokens(made);
}

std::string Trainer::weights_hash() {
  flush();
  const Program& program = is_odd_ ? *programs_.odd : programs_.step;
  const Executor& executor = is_odd_ ? *odd_executor_ : *step_executor_;
  return ds::weights_hash(program, programs_.spec, executor, memory_->files(), world_,
                          context_.comm_timeout);
}

Clock::time_point Trainer::follow(OpTimes* times, TraceBuffer* trace) {
  context_.times = times;
  context_.phases = config_.log.phases || trace != nullptr ? &clock_ : nullptr;
  return clock_.follow(trace);
}

std::int64_t Trainer::parameters() const { return parameter_count(programs_.step); }

}  // namespace ds
