#include "launcher/job/output_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"

namespace ds::launcher {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
// A spool that drops stays in memory; one that keeps everything may use the node's disk.
constexpr std::uint64_t kDropBytes = 16 * kMiB;
constexpr std::uint64_t kSpoolBytes = 256 * kMiB;
constexpr int kLeastColumns = 2;

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

std::string file_of(const LogPolicy& policy, const Placement& placement, const RankPlace& place,
                    const std::string& job_id) {
  const std::string& node = placement.nodes[static_cast<std::size_t>(place.node_rank)].host.name;
  const std::string folder = replaced(replaced(policy.folder, "{job}", job_id), "{node}", node);
  const std::string last = std::to_string(placement.shown_world() - 1);
  return fmt::format("{}/rank_{:0{}}.log", folder, placement.shown_rank(place.rank),
                     std::max<std::size_t>(4, last.size()));
}

PrefixTemplate prefix_of(const LogPolicy& policy, int world_size) {
  const PrefixTemplate usual =
      PrefixTemplate::parse(world_size > 1 ? PrefixTemplate::kDefault : std::string_view{});
  PrefixTemplate prefix = policy.prefix.value_or(usual);
  return policy.timestamps && !prefix.has_time() ? prefix.with_time_first() : prefix;
}

/// Returns the columns that the terminal has for a line of rank 0 behind its prefix.
int columns_of_rank_0(const PrefixTemplate& prefix, const Placement& placement,
                      const Screens& screens) {
  const std::string& node = placement.nodes.front().host.name;
  const RankName name{.node = node, .host = node};
  const RankName* const names[] = {&name};
  const auto taken = static_cast<int>(prefix.render(names, 1, {}).size());
  return std::max(screens.columns - taken, kLeastColumns);
}

bool wants_drop(const LogPolicy& policy, const Screens& screens) {
  const bool terminal = screens.out_is_terminal || screens.err_is_terminal;
  return policy.backpressure == Backpressure::drop ||
         (policy.backpressure == Backpressure::automatic && terminal);
}

}  // namespace

std::vector<std::string> log_files(const LogPolicy& policy, const Placement& placement,
                                   const std::string& job_id) {
  std::vector<std::string> files;
  if (policy.folder.empty()) return files;
  for (const RankPlace& place : placement.ranks)
    files.push_back(file_of(policy, placement, place, job_id));
  return files;
}

OutputPlan plan_output(const LogPolicy& policy, const Placement& placement,
                       const std::string& job_id, const Screens& screens) {
  OutputPlan plan;
  const int world_size = placement.world_size();
  const bool has_files = !policy.folder.empty();
  const bool files_here = has_files && !policy.folder_on_nodes;
  const std::vector<std::uint8_t> shown = policy.show.resolve(placement.shown_world());
  plan.shown.assign(shown.begin() + placement.shown_rank(0),
                    shown.begin() + placement.shown_rank(0) + world_size);
  plan.sent = files_here ? std::vector<std::uint8_t>(plan.shown.size(), 3) : plan.shown;
  plan.files = log_files(policy, placement, job_id);
  plan.files_on_nodes = has_files && policy.folder_on_nodes;
  plan.untouched = placement.shown_world() == 1 && !policy.prefix && !policy.timestamps;
  plan.prefix = prefix_of(policy, placement.shown_world());
  const bool always = policy.colour == ColourChoice::always;
  const bool may = policy.colour == ColourChoice::automatic && !screens.no_colour;
  plan.colour[0] = always || (may && screens.out_is_terminal);
  plan.colour[1] = always || (may && screens.err_is_terminal);
  if (screens.out_is_terminal && !has_files)  // a file would have one line of all steps
    plan.live_columns = columns_of_rank_0(plan.prefix, placement, screens);
  const bool drop = wants_drop(policy, screens);
  plan.drop_here = drop && files_here;
  plan.output = {.drop = drop && !files_here,
                 .stamped = policy.timestamps,
                 .pty = policy.pty,
                 .rows = screens.rows,
                 .columns = screens.columns};
  if (policy.backpressure != Backpressure::block)
    plan.output.spool_bytes =
        policy.spool_bytes.value_or(plan.output.drop ? kDropBytes : kSpoolBytes);
  plan.input = policy.input;
  if (policy.input.kind == StdinChoice::Kind::one && policy.input.rank >= world_size)
    throw Error(ErrorKind::usage,
                fmt::format("--stdin: rank {} is out of range", policy.input.rank),
                fmt::format("this job has ranks 0 to {}", world_size - 1));
  plan.terminal = screens.terminal;
  return plan;
}

void plan_spec(const OutputPlan& plan, Spec& spec) {
  spec.output = plan.output;
  // -x may override it: later entries win.
  if (plan.output.pty) spec.env.insert(spec.env.begin(), {"TERM", plan.terminal});
  for (RankSpec& rank : spec.ranks) {
    const auto index = static_cast<std::size_t>(rank.rank);
    rank.sent = plan.sent[index];
    if (plan.files_on_nodes) rank.log_file = plan.files[index];
    rank.has_stdin = plan.input.kind == StdinChoice::Kind::all ||
                     (plan.input.kind == StdinChoice::Kind::one && plan.input.rank == rank.rank);
  }
}

}  // namespace ds::launcher
