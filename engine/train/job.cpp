// The phases: config, data, device, group, trainer, steps, end.
#include "engine/train/job.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>

#include "engine/base/units.h"
#include "engine/comm/agree.h"
#include "engine/comm/pieces.h"
#include "engine/config/print.h"
#include "engine/data/corpus.h"
#include "engine/monitor/memory_status.h"
#include "engine/plan/device_share.h"
#include "engine/plan/measure.h"
#include "engine/plugin/choose_backend.h"
#include "engine/plugin/plugin.h"
#include "engine/train/build_id.h"
#include "engine/train/open_ledger.h"
#include "engine/train/plan_launch.h"
#include "engine/train/reporter.h"
#include "engine/train/trainer.h"

namespace ds {
namespace {

constexpr auto kGroupTimeout = std::chrono::minutes(5);

LoadRequest load_request(const JobRequest& request) {
  return {.path = request.config_path,
          .overrides = request.overrides,
          .world_size = request.rendezvous.world_size};
}

LaunchPlace launch_place(const JobRequest& request, bool is_here) {
  return {.rank = request.rendezvous.rank,
          .world_size = request.rendezvous.world_size,
          .local_ranks = request.local_ranks,
          .order_given = gives_key(load_request(request), "determinism.order"),
          .is_here = is_here};
}

/// What the config leaves to this machine, chosen: the backend. `reason`: why not a GPU. Errors:
/// Error{config}: keys that this backend has not.
TrainConfig with_backend(TrainConfig config, std::string* reason = nullptr) {
  BackendChoice choice = choose_backend(config.device);
  config.device.backend = std::move(choice.backend);
  if (reason != nullptr) *reason = std::move(choice.reason);
  check_keys_of_backend(config.device);
  return config;
}

/// "CPU, 2 threads, AVX-512 (no CUDA device)".
std::string with_reason(const std::string& device, const std::string& reason) {
  return reason.empty() ? device : fmt::format("{} ({})", device, reason);
}

// The ranks of a node measure at the same time, as they will use memory and links.
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

/// Every rank's figure, in rank order. Collective.
std::vector<double> gather_figures(Group& world, double own) {
  std::vector<double> all(static_cast<std::size_t>(world.size()));
  all[static_cast<std::size_t>(world.rank())] = own;
  world.all_gather(cut_pieces(std::as_writable_bytes(std::span(all)), all.size()),
                   Deadline::after(kGroupTimeout));
  return all;
}

// All ranks measure at the same time, as they train at the same time. 0: a rank had no memory left.
double matrix_peak(Group& world, Backend& backend, Precision precision) {
  world.barrier(Deadline::after(kGroupTimeout));
  const std::vector<double> all =
      gather_figures(world, backend.kernels->measure_matrix_peak(act_of(precision)));
  return std::ranges::count(all, 0.0) > 0 ? 0.0 : std::accumulate(all.begin(), all.end(), 0.0);
}

/// Runs the steps; returns whether all were run.
bool run_steps(const TrainConfig& config, const JobRequest& request, Backend& backend, Group& world,
               Trainer& trainer, Reporter* reporter, SampleLedger* ledger) {
  for (std::int64_t step = 1; step <= config.train.steps; ++step) {
    const bool wish_stop = request.stop_signal != nullptr && request.stop_signal->load() != 0;
    const StepReport report = trainer.step({.stop = wish_stop});
    // Before anything of this step is saved: what a checkpoint counts is in the ledger.
    if (ledger != nullptr) ledger->write(report.step, trainer.taken());
    if (reporter != nullptr) reporter->step(report);
    if (report.stop) return false;
    if (step == 2 && reporter != nullptr)
      reporter->memory_after_step2(read_memory_status().anonymous_bytes);
    if (step == 1) {
      const double peak = matrix_peak(world, backend, config.precision.dtype);
      if (reporter != nullptr) reporter->set_matrix_peak(peak);
    }
    const bool due = config.train.validate_every > 0 && step % config.train.validate_every == 0;
    if (!due && step != config.train.steps) continue;
    const std::optional<double> loss = trainer.validate();
    if (reporter != nullptr && loss) reporter->validation(step, *loss);
  }
  return true;
}

/// The groups that ranks need beside `world`: on the device's wire where it has one of its own.
class JobGroups {
 public:
  JobGroups(const TrainConfig& config, const Rendezvous& rendezvous, Backend& backend, Group* world,
            Collectives& host) {
    groups_.world = world;
    groups_.activity = &host.activity();
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
  [[nodiscard]] const RankGroups& of_rank() const { return groups_; }

 private:
  std::unique_ptr<Collectives> device_;
  std::vector<std::unique_ptr<Group>> made_;
  RankGroups groups_;
};

}  // namespace

bool run_training(const JobRequest& request) {
  std::string reason;
  TrainConfig given = with_backend(load_train_config(load_request(request)), &reason);
  const DataSet data = open_data(given.data);
  Backend backend = make_backend(given.device, request.local_rank, request.local_ranks);
  choose_device_share(given, backend);
  const AutoChoice chosen = plan_launch(given, launch_place(request, true),
                                        workspace_of(*backend.kernels), *backend.device);
  // Beyond this point everything that one rank can get wrong alone was checked.
  if (request.joined != nullptr) *request.joined = true;
  Rendezvous rendezvous = request.rendezvous;
  rendezvous.hang_after = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(given.comm.timeout));
  const std::unique_ptr<Collectives> collectives = make_collectives(rendezvous);
  const auto make_group = [&](const char* name) {
    return collectives->make_group(whole_world(request.rendezvous, name),
                                   Deadline::after(request.rendezvous.timeout));
  };
  const std::unique_ptr<Group> world = make_group("world");
  // Before anything that ranks do together depends on them: also groups are made only with overlap.
  require_agreement(*world, "order of communication", digest_of(message_order_list(given)),
                    Deadline::after(kGroupTimeout));
  const TrainConfig config = agree_on_auto(given, chosen, *world, Deadline::after(kGroupTimeout));
  const JobGroups groups(config, request.rendezvous, backend, world.get(), *collectives);
  Trainer trainer(config, backend, groups.of_rank(), data);
  // Beyond this point all memory is taken.
  trainer.begin();
  std::optional<Reporter> reporter;
  if (world->rank() == 0) {
    reporter.emplace(config, std::filesystem::path(request.config_path).stem().string(),
                     request.started);
    reporter->header(trainer, data, with_reason(backend.device->description(), reason),
                     world->size());
  }
  Reporter* const reports = reporter ? &*reporter : nullptr;
  const std::unique_ptr<SampleLedger> ledger =
      config.log.samples ? open_ledger(reports != nullptr ? reports->folder() : std::string(),
                                       *world, Deadline::after(kGroupTimeout))
                         : nullptr;
  const bool complete = run_steps(config, request, backend, *world, trainer, reports, ledger.get());
  if (complete && config.sample.tokens > 0) {
    const std::string text = trainer.sample();
    if (reports != nullptr) reports->sample(text);
  }
  const std::string hash = trainer.weights_hash();
  const std::vector<double> peaks =
      gather_figures(*world, static_cast<double>(read_memory_status().peak_bytes));
  if (reports != nullptr) {
    reports->finish(hash, static_cast<std::int64_t>(*std::max_element(peaks.begin(), peaks.end())),
                    !complete);
  }
  world->barrier(Deadline::after(kGroupTimeout));
  return complete;
}

void check_configuration(const JobRequest& request) {
  const TrainConfig config = with_backend(load_train_config(load_request(request)));
  const Backend host = make_backend(DeviceConfig{.backend = "cpu"}, 0);
  plan_launch(config, launch_place(request, false), workspace_for(config.device), *host.device);
}

void check_training(const JobRequest& request) {
  const TrainConfig config = with_backend(load_train_config(load_request(request)));
  open_data(config.data);
  const Backend backend = make_backend(config.device, request.local_rank, request.local_ranks);
  plan_launch(config, launch_place(request, true), workspace_of(*backend.kernels), *backend.device);
}

}  // namespace ds
