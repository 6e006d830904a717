// The phases of a job: prepare, meet, load, train, end.
#include "engine/train/job.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>

#include "engine/base/units.h"
#include "engine/comm/notes.h"
#include "engine/comm/pieces.h"
#include "engine/config/print.h"
#include "engine/monitor/memory_status.h"
#include "engine/plugin/plugin.h"
#include "engine/train/build_id.h"
#include "engine/train/open_keeper.h"
#include "engine/train/open_ledger.h"
#include "engine/train/own_facts.h"
#include "engine/train/prepare.h"
#include "engine/train/reporter.h"
#include "engine/train/run_steps.h"
#include "engine/train/save_start.h"
#include "engine/train/trainer.h"

namespace ds {
namespace {

constexpr auto kGroupTimeout = std::chrono::minutes(5);

/// Returns "CPU, 2 threads, AVX-512 (no CUDA device)".
std::string with_reason(const std::string& device, const std::string& reason) {
  return reason.empty() ? device : fmt::format("{} ({})", device, reason);
}

GroupSpec whole_world(const Rendezvous& rendezvous, const char* name) {
  GroupSpec spec{.name = name, .epoch = rendezvous.epoch, .ranks = {}};
  spec.ranks.resize(static_cast<std::size_t>(rendezvous.world_size));
  std::iota(spec.ranks.begin(), spec.ranks.end(), 0);
  return spec;
}

void tell_phase(const JobRequest& request, std::string_view name) {
  if (request.channel != nullptr) request.channel->tell_phase(name);
}

/// Prints the result of a save on rank 0.
void tell_save(Reporter& reporter, const SaveTold& told) {
  reporter.note_checkpoint(told.failed
                               ? save_failed_line(told.saved.step, *told.failed, told.saved.asked)
                               : saved_line(told.saved));
  if (!told.failed) reporter.saved(told.saved, told.flush_s);
}

/// Returns the checkpointer, or null if nothing is saved. Collective.
std::unique_ptr<Checkpointer> open_saver(const TrainConfig& config, const JobRequest& request,
                                         Trainer& trainer, StartVote& vote, const Resume& resume,
                                         Reporter* reporter) {
  if (!config.checkpoint.saves()) return nullptr;
  SaveStart start =
      start_saves(config.checkpoint, owner_of(request), resume.newest(), trainer, vote);
  if (reporter != nullptr) {
    for (const std::string& line : lines_of(start, config.checkpoint, request.grace_s))
      reporter->note(line);
  }
  return std::make_unique<Checkpointer>(
      config, trainer, vote.world(), std::move(start.folder),
      SaveFacts{.origin = resume.origin(), .config = to_toml(config), .bytes = start.bytes},
      [reporter](const SaveTold& told) {
        if (reporter != nullptr) tell_save(*reporter, told);
      });
}

/// The groups that ranks use beside `world`: the device's own collectives if it has them.
class JobGroups {
 public:
  JobGroups(const TrainConfig& config, const Rendezvous& rendezvous, Backend& backend, Group* world,
            Collectives& host) {
    groups_.world = world;
    groups_.activity = &host.activity();
    groups_.activity->follow([&kernels = host_kernels_of(backend)] { return kernels.progress(); });
    if (world->size() == 1) return;
    if (!backend.device->is_host())
      device_ = open_cuda_plugin().make_collectives(*backend.device, host);
    Collectives& collectives = device_ ? *device_ : host;
    const auto add = [&](const char* name) {
      made_.push_back(collectives.make_group(whole_world(rendezvous, name),
                                             Deadline::after(rendezvous.timeout)));
      return made_.back().get();
    };
    if (config.zero.overlap) {
      groups_.gather = add("gather");
      groups_.reduce = add("reduce");
    } else if (device_) {
      groups_.compute = add("compute");
    }
  }
  ~JobGroups() { groups_.activity->follow({}); }
  JobGroups(const JobGroups&) = delete;
  [[nodiscard]] const RankGroups& of_rank() const { return groups_; }

 private:
  std::unique_ptr<Collectives> device_;
  std::vector<std::unique_ptr<Group>> made_;
  RankGroups groups_;
};

EpochMetrics epoch_metrics(const Began& began, const JobRequest& request, Clock::time_point met,
                           Clock::time_point built) {
  const auto since_start = [&](Clock::time_point at) { return seconds_of(at - request.started); };
  return {.step = began.step,
          .ranks = request.rendezvous.world_size,
          .ranks_before = began.ranks_before,
          .source = began.from == Began::From::memory       ? "memory"
                    : began.from == Began::From::checkpoint ? "disk"
                                                            : "new",
          .moved_bytes = began.bytes_moved,
          .read_bytes = began.bytes_read,
          .met_s = since_start(met),
          .built_s = since_start(built),
          .loaded_s = since_start(Clock::now())};
}

/// Prepares a later epoch. What the nodes keep decides about the settings that a job keeps, so the
/// ranks meet first. Collective.
Prepared recover(const JobRequest& given, StartVote& vote) {
  Group& world = vote.world();
  Recovery recovery{
      .memory = std::make_unique<KeptMemory>(world, std::make_unique<ChannelStore>(*given.channel),
                                             given.node, given.rendezvous.job_id)};
  if (world.rank() == 0)
    recovery.newest_on_disk = newest_saved_step(load_train_config(load_request(given)).checkpoint);
  world.about("start.newest");
  world.broadcast(std::as_writable_bytes(std::span(&recovery.newest_on_disk, 1)),
                  Deadline::after(kGroupTimeout));
  std::optional<Prepared> job;
  vote.together("start.prepare",
                [&](SaveOutcome&) { job.emplace(prepare(start_of(given, std::move(recovery)))); });
  tell_phase(given, "prepared");
  return std::move(*job);
}

/// The launcher compares them with those of nodes that may join.
void tell_facts(const JobRequest& given, const Prepared& job) {
  if (given.channel == nullptr || given.rendezvous.rank != 0) return;
  TrainConfig config = config_with_backend(given);
  config.elastic = job.config.elastic;
  given.channel->tell_facts(own_facts(config, job.backend, job.data));
}

/// What all ranks agree on before they build: even which groups exist depends on zero.overlap.
TrainConfig agree_on_config(const Prepared& job, Group& world) {
  const auto deadline = [] { return Deadline::after(kGroupTimeout); };
  require_agreement(world, "order of communication", digest_of(message_order_list(job.config)),
                    deadline());
  require_agreement(world, "whether states are kept",
                    job.config.elastic.keeps ? "kept" : "not kept", deadline());
  TrainConfig config = agree_on_auto(job.config, job.chosen, world, deadline());
  require_agreement(world, "imported model", job.imported.identity, deadline());
  return config;
}

/// A rank's trainer, and on rank 0 what reports of it.
struct Built {
  std::optional<Trainer> trainer;
  std::optional<Reporter> reporter;
  [[nodiscard]] Reporter* reports() { return reporter ? &*reporter : nullptr; }
};

/// Allocates all memory of the training. Collective.
void build(Built& built, const TrainConfig& config, Prepared& job, const RankGroups& groups,
           StartVote& vote) {
  const JobRequest& request = job.start.request;
  const Group& world = vote.world();
  vote.together("start.trainer", [&](SaveOutcome&) {
    built.trainer.emplace(config, job.backend, groups, job.data);
    if (world.rank() != 0) return;
    built.reporter.emplace(
        config, std::filesystem::path(request.config_path).stem().string(),
        RunId{.job = request.rendezvous.job_id, .epoch = request.rendezvous.epoch}, request.started,
        request.channel);
    built.reporter->header(*built.trainer, job.data,
                           with_reason(job.backend.device->description(), job.reason), world.size(),
                           request.local_ranks);
  });
}

/// Loads the states with which the job begins, and tells where they come from. Collective.
void load_states(Prepared& job, Trainer& trainer, Reporter* reports, StartVote& vote) {
  const JobRequest& request = job.start.request;
  const Clock::time_point built = Clock::now();
  const Began began =
      job.start.resume.load(trainer, vote, job.start.given, [&](const std::string& line) {
        if (reports == nullptr) return;
        parse_checkpoint_line(line) ? reports->note_checkpoint(line) : reports->note(line);
      });
  tell_phase(request, "loaded");
  if (reports == nullptr) return;
  if (request.rendezvous.epoch > 0) reports->epoch(epoch_metrics(began, request, job.met, built));
  for (const std::string& note : {job.imported.note, load_note(load_request(request))})
    if (!note.empty()) reports->note(note);
}

/// What accompanies the steps. Null: not asked for.
struct Companions {
  std::unique_ptr<Checkpointer> saver;
  std::unique_ptr<Keeper> keeper;
  std::unique_ptr<SampleLedger> ledger;
  std::unique_ptr<StepTracer> tracer;
};

/// Collective.
Companions open_companions(const TrainConfig& config, Prepared& job, Trainer& trainer,
                           Reporter* reports, StartVote& vote, Collectives& collectives) {
  const JobRequest& request = job.start.request;
  const Resume& resume = job.start.resume;
  Companions opened{
      .saver = open_saver(config, request, trainer, vote, resume, reports),
      .keeper = open_keeper(config, request, trainer, vote.world(), collectives,
                            {.origin = resume.origin(), .config = to_toml(config)}, reports),
      .ledger = nullptr,
      .tracer = nullptr};
  if (opened.saver && opened.keeper)
    opened.saver->share_copy(
        {.is_free = [keeper =
                         opened.keeper.get()](bool wait) { return keeper->copy_is_free(wait); },
         .elsewhere = [keeper = opened.keeper.get()](
                          std::int64_t step) { return keeper->copy_for_save(step); }});
  if (config.log.samples)
    opened.ledger = open_ledger(reports != nullptr ? reports->folder() : std::string(), vote,
                                Deadline::after(kGroupTimeout));
  TracePlace trace{.device = job.backend.device->description()};
  if (reports != nullptr) {
    trace.folder = reports->folder();
    trace.tell = [reports](const std::string& line) { reports->note(line); };
  }
  opened.tracer =
      make_step_tracer(config, trainer, vote.world(), *job.backend.device, std::move(trace));
  return opened;
}

/// Writes the sample, the hash and the summary. Collective.
void finish(const TrainConfig& config, TrainEnd end, bool is_saved, Trainer& trainer,
            Reporter* reports, Group& world) {
  const bool complete = end == TrainEnd::complete;
  if (complete && config.sample.tokens > 0) {
    const std::string text = trainer.sample();
    if (reports != nullptr) reports->sample(text);
  }
  // A job stopped by a signal has no time for the hash, and its state is in the checkpoint; a
  // paused one goes on.
  const bool needs_hash = complete || (end == TrainEnd::stopped && !is_saved);
  const std::string hash = needs_hash ? trainer.weights_hash() : std::string();
  const std::vector<double> peaks =
      gather_figures(world, static_cast<double>(read_memory_status().peak_bytes));
  if (reports != nullptr) {
    reports->finish(hash, static_cast<std::int64_t>(*std::max_element(peaks.begin(), peaks.end())),
                    !complete);
  }
  world.barrier(Deadline::after(kGroupTimeout));
}

/// Trains with the other ranks of `world`.
TrainEnd train(Prepared& job, Collectives& collectives, Group& world, StartVote& vote) {
  const TrainConfig config = agree_on_config(job, world);
  const JobGroups groups(config, job.start.request.rendezvous, job.backend, &world, collectives);
  Built built;
  build(built, config, job, groups.of_rank(), vote);
  // From here on, no more memory is allocated.
  Trainer& trainer = *built.trainer;
  Reporter* const reports = built.reports();
  load_states(job, trainer, reports, vote);
  const Companions with = open_companions(config, job, trainer, reports, vote, collectives);
  if (reports != nullptr) reports->begin(trainer);
  const TrainEnd end = run_steps(config, job.start.request, job.backend, world,
                                 {.trainer = trainer,
                                  .reporter = reports,
                                  .ledger = with.ledger.get(),
                                  .saver = with.saver.get(),
                                  .keeper = with.keeper.get(),
                                  .tracer = with.tracer.get()});
  finish(config, end, with.saver != nullptr, trainer, reports, world);
  if (with.saver) with.saver->require_end();
  return end;
}

}  // namespace

TrainEnd run_training(const JobRequest& given) {
  const bool recovers = given.rendezvous.epoch > 0 && given.channel != nullptr;
  std::optional<Prepared> job;
  if (!recovers) {
    await_earlier_job(given);
    job.emplace(prepare(start_of(given)));
    tell_phase(given, "prepared");
  }
  const double hang_after =
      job ? job->config.comm.timeout : load_train_config(load_request(given)).comm.timeout;
  if (given.joined != nullptr) *given.joined = true;
  Rendezvous rendezvous = given.rendezvous;
  rendezvous.hang_after =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(hang_after));
  const std::unique_ptr<Collectives> collectives = make_collectives(rendezvous);
  const std::unique_ptr<Group> world = collectives->make_group(whole_world(rendezvous, "world"),
                                                               Deadline::after(rendezvous.timeout));
  tell_phase(given, "met");
  const Clock::time_point met = Clock::now();
  StartVote vote(*world, given.ends_itself);
  try {
    if (recovers) job.emplace(recover(given, vote));
    job->met = met;
    tell_facts(given, *job);
    return train(*job, *collectives, *world, vote);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::comm) vote.leave();
    throw;
  }
}

}  // namespace ds
