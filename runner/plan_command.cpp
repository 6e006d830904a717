// Fills in limits and rates, runs the planner and prints its report.
#include "runner/plan_command.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "engine/base/units.h"
#include "engine/config/load.h"
#include "engine/config/print.h"
#include "engine/data/open_data.h"
#include "engine/device/cpu/thread_pool.h"
#include "engine/models/parameter_count.h"
#include "engine/plan/auto.h"
#include "engine/plan/measure.h"
#include "engine/plan/report.h"
#include "engine/plugin/choose_backend.h"
#include "engine/train/open_keeper.h"
#include "engine/train/plan_build.h"

namespace ds {
namespace {

void write(const std::string& text) { fmt::print("{}", text); }

/// The ranks of a node share its threads evenly, as the launcher assigns them.
Backend make_host_backend(const DeviceConfig& device, const Cluster& cluster) {
  int threads = static_cast<int>(device.threads);
  if (threads == 0) {
    const bool given = std::getenv("OMP_NUM_THREADS") != nullptr;
    threads = std::max(1, default_thread_count() / (given ? 1 : cluster.slots));
  }
  return make_cpu_backend({.threads = threads, .isa = device.isa});
}

/// Fills in the limits: options before keys, and without either the memory of this machine if the
/// job has one node. Returns where they come from, for the report.
std::string fill_limits(MemoryLimits& limits, const DeviceConfig& keys, const Cluster& cluster,
                        const Device& device) {
  if (!limits.device && keys.memory > 0) limits.device = keys.memory;
  if (keys.host_memory > 0) limits.host_rank = keys.host_memory;
  limits.device_is_host = !is_accelerator(keys) && !limits.device;
  if (limits.device || limits.host || limits.host_rank) return "as given";
  if (cluster.nodes > 1) return {};
  limits.host = static_cast<std::int64_t>(device.free_bytes(Tier::host));
  return "free on this machine, limits of cgroups counted";
}

/// Measures the rates that were not given.
void measure(Rates& rates, Kernels& kernels, const TrainConfig& config) {
  if (rates.flops == 0) {
    rates.flops = kernels.measure_matrix_peak(act_of(config.precision.dtype));
  }
  if (rates.host == 0) rates.host = measure_memory_rate();
}

/// Returns the plan of the heaviest rank for both orders of reduction.
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

/// Returns the size of the largest matrix. DeepSpeed counts the parameters of one module without
/// its children.
double largest_layer(const TrainConfig& config) {
  const auto hidden = static_cast<double>(config.model.hidden);
  const double head = hidden * static_cast<double>(config.model.vocab);
  return std::max(head, hidden * static_cast<double>(config.model.ffn + 1));
}

/// Returns the config of an elastic job at a number of nodes.
TrainConfig config_at(TrainConfig config, int nodes) {
  settle_keeping(config.elastic, {.has_agent = true, .is_elastic = true, .has_nodes = nodes > 1});
  return config;
}

/// Returns what every size of an elastic job needs; nothing if its size does not change.
std::vector<PlanSize> sizes_of(const PlanOptions& options, const SolveRequest& largest,
                               const BuildRank& build) {
  std::vector<PlanSize> sizes;
  if (options.least_nodes == 0) return sizes;
  for (int nodes = options.least_nodes; nodes <= options.cluster.nodes; ++nodes) {
    const TrainConfig config = config_at(largest.config, nodes);
    Cluster cluster = largest.cluster;
    cluster.nodes = nodes;
    const std::int64_t ranks = cluster.world_size(), shares = config.determinism.virtual_ranks;
    const auto busiest = static_cast<double>((shares + ranks - 1) / ranks * ranks);
    RankPlan most = heaviest(plan_ranks(config, cluster, build));
    std::string lacks = excess(most, largest.limits, cluster.slots);
    sizes.push_back({.nodes = nodes,
                     .ranks = cluster.world_size(),
                     .efficiency = static_cast<double>(shares) / busiest,
                     .most = std::move(most),
                     .excess = std::move(lacks)});
  }
  return sizes;
}

std::string sizes_text(const PlanReport& report) {
  if (report.sizes.empty()) return {};
  std::string text = fmt::format("\n{:>5}{:>7}{:>12}{:>12}{:>12}{:>12}{:>13}  fits\n", "nodes",
                                 "ranks", "efficiency", "device", "host", "nvme", "kept states");
  for (const PlanSize& size : report.sizes) {
    const RankPlan& most = size.most;
    text += fmt::format("{:>5}{:>7}{:>11.0f}%{:>12}{:>12}{:>12}{:>13}  {}\n", size.nodes,
                        size.ranks, 100 * size.efficiency, format_bytes(most.device_bytes()),
                        format_bytes(most.host_bytes()), format_bytes(most.nvme_bytes()),
                        format_bytes(most.of_class("kept states")),
                        size.excess.empty() ? "yes" : "no: " + size.excess);
  }
  return text + "bytes of the rank that needs the most; host includes kept states in memory\n";
}

/// Throws does_not_fit() of the smallest size that does not fit, as the plan has printed.
void require_sizes(const PlanReport& report, const BuildRank& build) {
  const auto found =
      std::ranges::find_if(report.sizes, [](const PlanSize& size) { return !size.excess.empty(); });
  if (found == report.sizes.end()) return;
  const TrainConfig config = config_at(report.request.config, found->nodes);
  SolveRequest request = with_config(report.request, config);
  request.cluster.nodes = found->nodes;
  request.rank = found->most.rank;
  throw does_not_fit(request, found->most, build)
      .with_context(
          fmt::format("{} node{} of --nodes MIN:MAX", found->nodes, found->nodes == 1 ? "" : "s"));
}

/// Names shown in the report.
struct Names {
  std::string config, limits, device;
  bool chosen = false;  // "auto" values were chosen
};

void show(const PlanOptions& options, SolveRequest request, const Names& names,
          const BuildRank& build) {
  const TrainConfig& config = request.config;
  PlanReport report{.request = request,
                    .name = names.config,
                    .limits_from = names.limits,
                    .device = names.device,
                    .auto_chosen = names.chosen,
                    .parameters = count_parameters(config.model, config.data.seq_len).all,
                    .ranks = plan_ranks(config, request.cluster, build),
                    .orders = {},
                    .candidates = {},
                    .largest_micro = config.batch.micro,
                    .sizes = sizes_of(options, request, build),
                    .estimates = {}};
  const RankPlan& most = heaviest(report.ranks);
  request.rank = most.rank;
  report.orders = both_orders(config, request.cluster, most.rank, build);
  report.candidates = plan_choices(request, build);
  const bool is_limited = request.limits.device || request.limits.device_is_host;
  if (is_limited && excess(most, request.limits, request.cluster.slots).empty())
    report.largest_micro = largest_micro(request, build);
  if (options.deepspeed_estimate) {
    report.largest_layer = largest_layer(config);
    report.estimates = deepspeed_estimates({.parameters = report.parameters,
                                            .largest_layer = report.largest_layer,
                                            .nodes = request.cluster.nodes,
                                            .gpus_per_node = request.cluster.slots});
  }
  write(options.json ? plan_json(report) : plan_text(report) + sizes_text(report));
  require_sizes(report, build);
  if (!excess(most, request.limits, request.cluster.slots).empty())
    throw does_not_fit(request, most, build);
}

/// Returns the fields of sample files, which the programs of the job read. The plan may be made
/// where the files are not; then it says what it assumes.
DataFields fields_here(const DataConfig& data) {
  if (data.format != "samples") return data.fields;
  try {
    return check_data(data);
  } catch (const Error& error) {
    fmt::print(stderr, "dsrunner: {}\n  the plan assumes samples with the required fields alone\n",
               error.what());
    return data.fields;
  }
}

}  // namespace

void run_plan(const PlanOptions& options) {
  const LoadRequest load{.path = options.config,
                         .overrides = options.overrides,
                         .world_size = options.cluster.world_size(),
                         .most_ranks = options.least_nodes > 0 ? options.cluster.world_size() : 0};
  TrainConfig given = load_train_config(load);
  if (options.print == "config") return write(to_toml(given));
  given.device.backend = choose_backend(given.device).backend;
  given.data.fields = fields_here(given.data);
  settle_keeping(given.elastic, {.has_agent = true,
                                 .is_elastic = options.least_nodes > 0,
                                 .has_nodes = options.cluster.nodes > 1});
  const Backend host = make_host_backend(given.device, options.cluster);
  const WorkspaceBytes workspace = workspace_for(given.device);
  const BuildRank build = rank_builder(workspace);
  SolveRequest request{.config = given,
                       .cluster = options.cluster,
                       .rank = options.rank,
                       .order_given = gives_key(load, "determinism.order"),
                       .limits = options.limits,
                       .rates = options.rates};
  const std::string from = fill_limits(request.limits, given.device, request.cluster, *host.device);
  if (options.measure && is_accelerator(given.device))
    throw Error(ErrorKind::usage,
                "--measure measures the CPU, but this plan is for device.backend = \"cuda\"",
                "give the rates of the GPU: --rates flops=800T,pcie=55G,host=200G");
  if (options.measure) measure(request.rates, *host.kernels, given);
  if (request.rates.device == 0 && request.limits.device_is_host)
    request.rates.device = request.rates.host / request.cluster.slots;
  const TrainConfig config = resolve_auto(request, build).config;
  if (!options.print.empty())
    return write(program_after(options.print, config, options.rank, options.cluster.world_size(),
                               workspace));
  show(options, with_config(request, config),
       {.config = std::filesystem::path(options.config).filename(),
        .limits = from,
        .device = is_accelerator(given.device) ? "CUDA" : host.device->description(),
        .chosen = has_auto(given)},
       build);
}

}  // namespace ds
