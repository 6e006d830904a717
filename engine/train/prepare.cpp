// Checks and opens what a rank needs before it connects to the others: config, data, folders,
// device, memory.
#include "engine/train/prepare.h"

#include "engine/checkpoint/folder_lock.h"
#include "engine/config/print.h"
#include "engine/exchange/peft_folder.h"
#include "engine/plan/device_share.h"
#include "engine/plan/measure.h"
#include "engine/plugin/choose_backend.h"
#include "engine/plugin/plugin.h"
#include "engine/states/imported_weights.h"
#include "engine/train/build_id.h"
#include "engine/train/job_data.h"
#include "engine/train/open_keeper.h"

namespace ds {
namespace {

// Ranks end at most 5 s after their launcher; a network file system releases their lock later.
constexpr std::chrono::seconds kEarlierJob{10};
// A driver needs longer than other ranks to notice the end of a process.
constexpr double kMemoryTimeouts = 1.5;  // times comm.timeout

// All ranks of a node measure at the same time, because they will share memory and links.
void choose_device_share(TrainConfig& config, Backend& backend) {
  std::int64_t& share = config.offload.optimizer.device_share;
  if (share != kAuto || backend.device->is_host()) return;
  if (config.offload.optimizer.device != OffloadDevice::cpu) return;
  share =
      device_share_of({.pcie = measure_link_rate(*backend.device), .host = measure_memory_rate()});
}

}  // namespace

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

TrainConfig config_with_backend(const JobRequest& request, std::string* reason) {
  TrainConfig config = load_train_config(load_request(request));
  BackendChoice choice = choose_backend(config.device);
  config.device.backend = std::move(choice.backend);
  if (reason != nullptr) *reason = std::move(choice.reason);
  check_keys_of_backend(config.device);
  return config;
}

JobStart start_of(const JobRequest& given, Recovery recovery) {
  JobStart start{load_request(given), given,
                 Resume(load_train_config(load_request(given)).checkpoint, given.rendezvous,
                        std::move(recovery))};
  for (std::string& override : start.resume.kept(start.given))
    start.request.overrides.push_back(std::move(override));
  return start;
}

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

Prepared prepare(JobStart start) {
  std::string reason;
  TrainConfig config = config_with_backend(start.request, &reason);
  start.resume.require_model(config);
  DataSet data = open_data(config.data, static_cast<std::uint64_t>(config.train.seed),
                           pack_share(start.request.rendezvous));
  if (config.train.steps == 0) {
    start.request.overrides.push_back(
        fmt::format("train.steps={}",
                    steps_of_epochs(config, data.train->epoch(), start.resume.state())));
    config = config_with_backend(start.request, &reason);
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

}  // namespace ds
