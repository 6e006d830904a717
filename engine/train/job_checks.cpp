// Checks of a job that does not train: --check, a host that may join, the config alone.
#include <algorithm>

#include "engine/data/open_data.h"
#include "engine/device/cpu/thread_pool.h"
#include "engine/plugin/choose_backend.h"
#include "engine/train/job.h"
#include "engine/train/job_data.h"
#include "engine/train/open_keeper.h"
#include "engine/train/own_facts.h"
#include "engine/train/prepare.h"

namespace ds {
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
    TrainConfig config = config_with_backend(request);
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
  TrainConfig config = config_with_backend(request);
  settle_keeping(config.elastic, keep_place(request, true));
  const Backend host = make_backend(DeviceConfig{.backend = "cpu"}, 0);
  plan_launch(config, launch_place(request, false), workspace_for(config.device), *host.device);
  check_fewest(request, config.data.fields, false, workspace_for(config.device), *host.device);
}

void check_training(const JobRequest& given) {
  const JobStart start = start_of(given);
  const JobRequest& request = start.request;
  TrainConfig config = config_with_backend(request);
  start.resume.require_model(config);
  config.data.fields = check_data(config.data);
  import_of(config, start.resume);
  const Backend backend = make_backend(config.device, request.local_rank, request.local_ranks);
  settle_keeping(config.elastic, keep_place(request, true));
  const WorkspaceBytes workspace = workspace_of(*backend.kernels);
  plan_launch(config, launch_place(request, true), workspace, *backend.device);
  check_fewest(request, config.data.fields, true, workspace, *backend.device);
}

std::string check_joining(const JobRequest& request) {
  TrainConfig config = config_with_backend(request);
  const DataSet data =
      open_data(config.data, static_cast<std::uint64_t>(config.train.seed),
                {.rank = 0, .ranks = 1, .threads = std::max(1, default_thread_count())});
  const Backend backend = make_backend(config.device, request.local_rank, request.local_ranks);
  settle_keeping(config.elastic, keep_place(request, true));
  std::string facts = own_facts(config, backend, data);
  config.data.fields = data.fields;
  plan_launch(config, launch_place(request, true), workspace_of(*backend.kernels), *backend.device);
  return facts;
}

}  // namespace ds
