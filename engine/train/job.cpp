// The phases of a job: config, data, device, groups, trainer, steps, end.
#include "engine/train/job.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>

#include "engine/base/units.h"
#include "engine/checkpoint/folder_lock.h"
#include "engine/comm/notes.h"
#include "engine/comm/pieces.h"
#include "engine/config/print.h"
#include "engine/data/open_data.h"
#include "engine/device/cpu/thread_pool.h"
#include "engine/exchange/peft_folder.h"
#include "engine/monitor/memory_status.h"
#include "engine/plan/device_share.h"
#include "engine/plan/measure.h"
#include "engine/plugin/choose_backend.h"
#include "engine/plugin/plugin.h"
#include "engine/states/imported_weights.h"
#include "engine/train/build_id.h"
#include "engine/train/job_data.h"
#include "engine/train/open_keeper.h"
#include "engine/train/open_ledger.h"
#include "engine/train/own_facts.h"
#include "engine/train/plan_launch.h"
#include "engine/train/reporter.h"
#include "engine/train/resume.h"
#include "engine/train/run_steps.h"
#include "engine/train/save_start.h"
#include "engine/train/trainer.h"

namespace ds {
namespace {

constexpr auto kGroupTimeout = std::chrono::minutes(5);
// Ranks end at most 5 s after their launcher; a network file system releases their lock later.
constexpr std::chrono::seconds kEarlierJob{10};
// A driver needs longer than other ranks to notice the end of a process.
constexpr double kMemoryTimeouts = 1.5;  // times comm.timeout

LoadRequest load_request(const JobRequest& request) {
  return {.path = request.config_path,
          .overrides = request.overrides,
          .world_size = request.rendezvous.world_size,
          .most_ranks = request.most_ranks};
}

LaunchPlace launch_place(const JobRequest& request, bool is_here) {
  return {.rank = request.rendezvous.rank,
          .world_size = request.rendezvous.world_size,
          .local_ranks = request.local_ranks,
          .order_given = gives_key(load_request(request), "determinism.order"),
          .is_here = is_here};
}

SaveOwner owner_of(const JobRequest& request) {
  return {.job = request.rendezvous.job_id, .epoch = request.rendezvous.epoch};
}

/// Waits until an earlier job has ended its last save, so that this one resumes from that save.
/// Errors: Error{config} of the config, or because another job goes on saving.
void await_earlier_job(const JobRequest& request) {
  const CheckpointConfig config = load_train_config(load_request(request)).checkpoint;
  if (!config.saves()) return;
  await_folder(
      config.dir, owner_of(request), Deadline::after(kEarlierJob), [&](const std::string& holder) {
        if (request.rendezvous.rank != 0) return;
        fmt::print(stderr,
                   "dsrunner: checkpoint.dir {}: {} saves there; waiting up to {} s for its end\n",
                   config.dir, holder, kEarlierJob.count());
      });
}

/// A job with the settings that it keeps from its first start.
struct JobStart {
  JobRequest request;
  Resume resume;
};
/// Returns the request with kept settings. Errors: Error{config} of the config, or because the
/// checkpoint cannot be used.
JobStart start_of(const JobRequest& given, Recovery recovery = {}) {
  JobStart start{given, Resume(load_train_config(load_request(given)).checkpoint, given.rendezvous,
                               std::move(recovery))};
  for (std::string& override : start.resume.kept(load_request(given)))
    start.request.overrides.push_back(std::move(override));
  return start;
}

/// Of the folders whose weights are imported; both are empty if none are.
struct Imported {
  std::string identity{}, note{};
};

/// Errors: Error{config} if a folder does not fit the config.
Imported import_of(const TrainConfig& config, const Resume& resume) {
  Imported imported;
  if (resume.checkpoint() != nullptr) return imported;
  if (is_imported(config.model)) {
    const HfModel model = open_import(config);
    imported = {.identity = model.identity(), .note = model.note()};
  }
  if (!config.lora.from.empty()) imported.identity += peft_identity(config.lora.from);
  return imported;
}

/// Returns the config with the backend chosen for this machine. `reason` receives why it is not a
/// GPU. Errors: Error{config} for keys that this backend does not have.
TrainConfig with_backend(TrainConfig config, std::string* reason = nullptr) {
  BackendChoice choice = choose_backend(config.device);
  config.device.backend = std::move(choice.backend);
  if (reason != nullptr) *reason = std::move(choice.reason);
  check_keys_of_backend(config.device);
  return config;
}

/// Returns "CPU, 2 threads, AVX-512 (no CUDA device)".
std::string with_reason(const std::string& device, const std::string& reason) {
  return reason.empty() ? device : fmt::format("{} ({})", device, reason);
}

// All ranks of a node measure at the same time, because they will share memory and links.
void choose_device_share(TrainConfig& config, Backend& backend) {
  std::int64_t& share = config.offload.optimizer.device_share;
  if (share != kAuto || backend.device->is_host()) return;
  if (config.offload.optimizer.device != OffloadDevice::cpu) return;
  share =
      device_share_of({.pcie = measure_link_rate(*backend.device), .host = measure_memory_rate()});
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

/// What a rank has checked and opened before it connects to the others.
struct Prepared {
  JobStart start;
  std::string reason{};  // why the backend is not a GPU
  TrainConfig config{};  // without the values that ranks agree on
  DataSet data;
  Imported imported{};
  Backend backend;
  AutoChoice chosen;
  Clock::time_point met{};  // when all ranks were connected
};

Prepared prepare(JobStart start) {
  std::string reason;
  TrainConfig config = with_backend(load_train_config(load_request(start.request)), &reason);
  start.resume.require_model(config);
  DataSet data = open_data(config.data, static_cast<std::uint64_t>(config.train.seed),
                           pack_share(start.request.rendezvous));
  if (config.train.steps == 0) {
    start.request.overrides.push_back(
        fmt::format("train.steps={}", steps_of_epochs(config, data.train->epoch())));
    config = with_backend(load_train_config(load_request(start.request)), &reason);
  }
  config.data.fields = data.fields;
  Imported imported = import_of(config, start.resume);
  Backend backend =
      make_backend(config.device, start.request.local_rank, start.request.local_ranks);
  choose_device_share(config, backend);
  settle_keeping(config.elastic, keep_place(start.request, false));
  build_id();  // kept for Trainer, where others would wait for a rank that cannot read its program
  LaunchPlace place = launch_place(start.request, true);
  place.held = start.resume.held_bytes();
  if (start.request.rendezvous.epoch > 0)
    place.patience = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(kMemoryTimeouts * config.comm.timeout));
  AutoChoice chosen =
      plan_launch(config, place, workspace_of(*backend.kernels), *backend.device,
                  [](const std::string& line) { fmt::print(stderr, "dsrunner: {}\n", line); });
  return {std::move(start),    std::move(reason),  std::move(config), std::move(data),
          std::move(imported), std::move(backend), std::move(chosen)};
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
  const TrainConfig config = with_backend(load_train_config(load_request(given)));
  given.channel->tell_facts(own_facts(config, job.backend, job.data));
}

/// Trains with the other ranks of `world`.
TrainEnd train(Prepared& job, Collectives& collectives, Group& world, StartVote& vote) {
  const JobRequest& request = job.start.request;
  // Checked before any other collective, because even which groups exist depends on zero.overlap.
  require_agreement(world, "order of communication", digest_of(message_order_list(job.config)),
                    Deadline::after(kGroupTimeout));
  require_agreement(world, "whether states are kept",
                    job.config.elastic.keeps ? "kept" : "not kept", Deadline::after(kGroupTimeout));
  const TrainConfig config =
      agree_on_auto(job.config, job.chosen, world, Deadline::after(kGroupTimeout));
  const JobGroups groups(config, request.rendezvous, job.backend, &world, collectives);
  std::optional<Trainer> made;
  std::optional<Reporter> reporter;
  vote.together("start.trainer", [&](SaveOutcome&) {
    made.emplace(config, job.backend, groups.of_rank(), job.data);
    if (world.rank() != 0) return;
    reporter.emplace(config, std::filesystem::path(request.config_path).stem().string(),
                     RunId{.job = request.rendezvous.job_id, .epoch = request.rendezvous.epoch},
                     request.started, request.channel);
    reporter->header(*made, job.data, with_reason(job.backend.device->description(), job.reason),
                     world.size(), request.local_ranks);
  });
  const Clock::time_point built = Clock::now();
  // From here on, no more memory is allocated.
  Trainer& trainer = *made;
  Reporter* const reports = reporter ? &*reporter : nullptr;
  require_agreement(world, "imported model", job.imported.identity, Deadline::after(kGroupTimeout));
  const Began began =
      job.start.resume.load(trainer, vote, load_request(request), [&](const std::string& line) {
        if (reports == nullptr) return;
        parse_checkpoint_line(line) ? reports->note_checkpoint(line) : reports->note(line);
      });
  tell_phase(request, "loaded");
  if (reports != nullptr && request.rendezvous.epoch > 0)
    reports->epoch(epoch_metrics(began, request, job.met, built));
  if (reports != nullptr && !job.imported.note.empty()) reports->note(job.imported.note);
  const std::string note = load_note(load_request(request));
  if (reports != nullptr && !note.empty()) reports->note(note);
  const std::unique_ptr<Checkpointer> saver =
      open_saver(config, request, trainer, vote, job.start.resume, reports);
  const std::unique_ptr<Keeper> keeper =
      open_keeper(config, request, trainer, world, collectives,
                  {.origin = job.start.resume.origin(), .config = to_toml(config)}, reports);
  if (saver && keeper)
    saver->share_copy(
        {.is_free = [&](bool wait) { return keeper->copy_is_free(wait); },
         .elsewhere = [&](std::int64_t step) { return keeper->copy_for_save(step); }});
  const std::unique_ptr<SampleLedger> ledger =
      config.log.samples ? open_ledger(reports != nullptr ? reports->folder() : std::string(), vote,
                                       Deadline::after(kGroupTimeout))
                         : nullptr;
  TracePlace trace{.device = job.backend.device->description()};
  if (reports != nullptr) {
    trace.folder = reports->folder();
    trace.tell = [reports](const std::string& line) { reports->note(line); };
  }
  const std::unique_ptr<StepTracer> tracer =
      make_step_tracer(config, trainer, world, *job.backend.device, std::move(trace));
  if (reports != nullptr) reports->begin(trainer);
  const TrainEnd end = run_steps(config, request, job.backend, world,
                                 {.trainer = trainer,
                                  .reporter = reports,
                                  .ledger = ledger.get(),
                                  .saver = saver.get(),
                                  .keeper = keeper.get(),
                                  .tracer = tracer.get()});
  const bool complete = end == TrainEnd::complete;
  if (complete && config.sample.tokens > 0) {
    const std::string text = trainer.sample();
    if (reports != nullptr) reports->sample(text);
  }
  // A job stopped by a signal has no time for the hash, and its state is in the checkpoint; a
  // paused one goes on.
  const bool needs_hash = complete || (end == TrainEnd::stopped && !saver);
  const std::string hash = needs_hash ? trainer.weights_hash() : std::string();
  const std::vector<double> peaks =
      gather_figures(world, static_cast<double>(read_memory_status().peak_bytes));
  if (reports != nullptr) {
    reports->finish(hash, static_cast<std::int64_t>(*std::max_element(peaks.begin(), peaks.end())),
                    !complete);
  }
  world.barrier(Deadline::after(kGroupTimeout));
  if (saver) saver->require_end();
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

std::string check_joining(const JobRequest& request) {
  TrainConfig config = with_backend(load_train_config(load_request(request)));
  const DataSet data =
      open_data(config.data, static_cast<std::uint64_t>(config.train.seed),
                {.rank = 0, .ranks = 1, .threads = std::max(1, default_thread_count())});
  const Backend backend = make_backend(config.device, request.local_rank, request.local_ranks);
  std::string facts = own_facts(config, backend, data);
  config.data.fields = data.fields;
  settle_keeping(config.elastic, keep_place(request, true));
  plan_launch(config, launch_place(request, true), workspace_of(*backend.kernels), *backend.device);
  return facts;
}

namespace {

/// Checks the memory limits of an elastic job at its fewest ranks, each of which has the largest
/// share. Errors: Error{config}.
void check_fewest(JobRequest request, const DataFields& fields, bool is_here,
                  const WorkspaceBytes& workspace, const Device& device) {
  const auto fewest = static_cast<int>(request.least_ranks);
  if (fewest == 0 || fewest >= request.rendezvous.world_size) return;
  request.rendezvous.world_size = fewest;
  request.rendezvous.rank = 0;
  request.local_ranks = std::min(request.local_ranks, fewest);
  try {
    TrainConfig config = with_backend(load_train_config(load_request(request)));
    config.data.fields = fields;
    settle_keeping(config.elastic, keep_place(request, true));
    plan_launch(config, launch_place(request, is_here), workspace, device);
  } catch (const Error& error) {
    throw error.with_context(fmt::format("at {} rank{}, the fewest of this elastic job", fewest,
                                         fewest == 1 ? "" : "s"));
  }
}

}  // namespace

// Does not look for checkpoints: their folder may be visible only on the nodes.
void check_configuration(const JobRequest& request) {
  TrainConfig config = with_backend(load_train_config(load_request(request)));
  settle_keeping(config.elastic, keep_place(request, true));
  const Backend host = make_backend(DeviceConfig{.backend = "cpu"}, 0);
  plan_launch(config, launch_place(request, false), workspace_for(config.device), *host.device);
  check_fewest(request, config.data.fields, false, workspace_for(config.device), *host.device);
}

void check_training(const JobRequest& given) {
  const JobStart start = start_of(given);
  const JobRequest& request = start.request;
  TrainConfig config = with_backend(load_train_config(load_request(request)));
  start.resume.require_model(config);
  config.data.fields = check_data(config.data);
  import_of(config, start.resume);
  const Backend backend = make_backend(config.device, request.local_rank, request.local_ranks);
  settle_keeping(config.elastic, keep_place(request, true));
  const WorkspaceBytes workspace = workspace_of(*backend.kernels);
  plan_launch(config, launch_place(request, true), workspace, *backend.device);
  check_fewest(request, config.data.fields, true, workspace, *backend.device);
}

}  // namespace ds
