// Config, limits, rates; then the planner.
#include "runner/plan_command.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "engine/config/load.h"
#include "engine/config/print.h"
#include "engine/device/cpu/thread_pool.h"
#include "engine/monitor/model_flops.h"
#include "engine/plan/measure.h"
#include "engine/plan/report.h"
#include "engine/train/plan_build.h"

namespace ds {
namespace {

void write(const std::string& text) { fmt::print("{}", text); }

/// A node's threads are shared by its ranks, as the launcher deals them.
Backend make_backend(const DeviceConfig& device, const Cluster& cluster) {
  int threads = static_cast<int>(device.threads);
  if (threads == 0) {
    const bool given = std::getenv("OMP_NUM_THREADS") != nullptr;
    threads = std::max(1, default_thread_count() / (given ? 1 : cluster.slots));
  }
  return make_cpu_backend({.threads = threads, .isa = device.isa});
}

/// Without options: the memory of this machine, when the job is to be one node.
std::string fill_limits(MemoryLimits& limits, const Cluster& cluster, const Device& device) {
  limits.device_is_host = !limits.device;
  if (limits.device || limits.host) return "as given";
  if (cluster.nodes > 1) return {};
  limits.host = static_cast<std::int64_t>(device.free_bytes(Tier::host));
  return "free on this machine, limits of cgroups counted";
}

/// What was not given is measured.
void measure(Rates& rates, Kernels& kernels, const TrainConfig& config) {
  const DType act = config.precision.dtype == Precision::bf16 ? DType::bf16 : DType::f32;
  if (rates.flops == 0) rates.flops = kernels.measure_matrix_peak(act);
  if (rates.host == 0) rates.host = measure_memory_rate();
}

/// The heaviest rank's plan by both orders.
std::vector<std::pair<std::string, RankPlan>> both_orders(TrainConfig config,
                                                          const Cluster& cluster, int rank,
                                                          const BuildRank& build) {
  std::vector<std::pair<std::string, RankPlan>> plans;
  for (const auto& [name, order] :
       {std::pair{"boundary", ReduceOrder::boundary}, {"step", ReduceOrder::step}}) {
    config.determinism.order = order;
    plans.emplace_back(name, plan_rank(config, cluster, rank, build));
  }
  return plans;
}

/// DeepSpeed counts the parameters of one module without its children: the largest matrix here.
double largest_layer(const TrainConfig& config) {
  const auto hidden = static_cast<double>(config.model.hidden);
  const double head = hidden * static_cast<double>(config.model.vocab);
  return std::max(head, hidden * static_cast<double>(config.model.ffn + 1));
}

}  // namespace

void run_plan(const PlanOptions& options) {
  const TrainConfig config = load_train_config({.path = options.config,
                                                .overrides = options.overrides,
                                                .world_size = options.cluster.world_size()});
  if (options.print == "config") return write(to_toml(config));
  const Backend backend = make_backend(config.device, options.cluster);
  if (!options.print.empty())
    return write(program_after(options.print, config, options.rank, options.cluster.world_size(),
                               *backend.kernels));
  SolveRequest request{.config = config,
                       .cluster = options.cluster,
                       .limits = options.limits,
                       .rates = options.rates};
  const std::string from = fill_limits(request.limits, request.cluster, *backend.device);
  if (options.measure) measure(request.rates, *backend.kernels, config);
  const BuildRank build = rank_builder(*backend.kernels);
  PlanReport report{.request = request,
                    .name = std::filesystem::path(options.config).filename(),
                    .limits_from = from,
                    .device = backend.device->description(),
                    .parameters = total_parameters(config.model, config.data.seq_len),
                    .ranks = plan_ranks(config, request.cluster, build),
                    .orders = {},
                    .candidates = {},
                    .estimates = {}};
  const RankPlan& most = heaviest(report.ranks);
  request.rank = most.rank;
  report.orders = both_orders(config, request.cluster, most.rank, build);
  report.candidates = plan_choices(request, build);
  if (options.deepspeed_estimate) {
    report.largest_layer = largest_layer(config);
    report.estimates = deepspeed_estimates({.parameters = report.parameters,
                                            .largest_layer = report.largest_layer,
                                            .nodes = request.cluster.nodes,
                                            .gpus_per_node = request.cluster.slots});
  }
  write(options.json ? plan_json(report) : plan_text(report));
  if (!excess(most, request.limits, request.cluster.slots).empty())
    throw does_not_fit(request, most, report.candidates, build);
}

}  // namespace ds
