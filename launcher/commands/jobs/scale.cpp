// `dslaunch scale`: changes the hosts of a running job with --nodes MIN:MAX, or their number.
#include <fmt/format.h>

#include "launcher/cli/option_table.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/jobs/find_job.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {
namespace {

constexpr int kMostScaled = 65'536;

struct ScaleOptions {
  std::optional<int> nodes;
  std::vector<std::string> add;
  std::vector<std::string> remove;
};

constexpr OptionDef<ScaleOptions> kScaleOptions[] = {
    {{"--nodes", "N", "New number of nodes, from the MIN to the MAX of the job"},
     [](ScaleOptions& part, const GivenOption& given) {
       part.nodes = number_value(given, 1, kMostScaled);
     }},
    {{"--add", "HOSTS",
      "Hosts that join the job, as a,b:4 (default slots: as its first host);\nrepeatable", true},
     [](ScaleOptions& part, const GivenOption& given) { part.add.push_back(text_value(given)); }},
    {{"--remove", "HOSTS", "Hosts that leave the job, as a,b or n[1-3]; repeatable", true},
     [](ScaleOptions& part, const GivenOption& given) { part.remove.push_back(text_value(given)); }},
};

int run_scale(int argc, char** argv) {
  ScaleOptions options;
  const auto words = read_command(kScaleCommand, table_of(kScaleOptions, options), argc, argv);
  if (!words) return 0;
  if (!options.nodes && options.add.empty() && options.remove.empty())
    usage_error("nothing to change", "give --nodes N, --add HOSTS or --remove HOSTS");
  LiveJob job = only_job(kScaleCommand, *words, own_jobs());
  job.client.send(ScaleRequest{
      .nodes = options.nodes.value_or(-1), .add = options.add, .remove = options.remove});
  const ControlMessage answer = answer_of(job);
  const auto* scaled = std::get_if<Scaled>(&answer);
  return print(printable(
      fmt::format("job {}: {}\n", short_id(job.id), scaled != nullptr ? scaled->text : "?")));
}

}  // namespace

constinit const Command kScaleCommand = {
    .name = "scale",
    .summary = "Change the nodes of a running job with --nodes MIN:MAX",
    .run = run_scale,
    .synopsis = "[JOB] [--nodes N] [--add HOSTS] [--remove HOSTS]",
    .details =
        R"(JOB is the beginning of a job's id; it is optional if only one job runs. Hosts that are added
join as --admit says; hosts beyond the number of nodes wait as spares. For a host that leaves,
and for fewer nodes, a training ends its step and all ranks start again; other programs get
TERM and their grace. Exit code: 0 accepted, 69 refused, with the reason.)",
    .options = shown_table<kScaleOptions>,
};

}  // namespace ds::launcher
