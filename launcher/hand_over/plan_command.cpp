// The options of `plan`.
#include "launcher/hand_over/plan_command.h"

#include <span>

#include "launcher/cli/option_values.h"
#include "launcher/cli/train_command.h"
#include "launcher/hand_over/hand_over.h"

namespace ds::launcher {
namespace {

constexpr int kMostNodes = 100'000, kMostSlots = 1024, kMostRanks = 999'999;

/// Numbers and bytes are checked here as well: what is wrong on the command line is said by the
/// program that was called.
template <int most>
void pass_number_on(HandedWords& plan, const GivenOption& given) {
  number_value(given, most == kMostRanks ? 0 : 1, most);
  pass_on(plan, given);
}
using Def = HandedOption;

constexpr Def kJob[] = {
    {{"--nodes", "N", "nodes of the job (default: 1)"}, pass_number_on<kMostNodes>},
    {{"--slots", "N", "ranks on each node (default: 1)"}, pass_number_on<kMostSlots>},
};

constexpr Def kLimits[] = {
    {{"--device-memory", "SIZE",
      "what a rank may take of its device, as 80G; without it the device's\n"
      "memory is the node's, as on a CPU"},
     pass_size_on},
    {{"--host-memory", "SIZE",
      "what the ranks of a node may take of its memory, as 512G (default\n"
      "for one node: what is free here, limits of cgroups counted)"},
     pass_size_on},
};

constexpr Def kTimes[] = {
    {{"--rates", "RATES",
      "for the least time of a step: flops=800T (a rank), link=400G (a rank\n"
      "to others on its node), net=50G (a node to others), pcie=55G (a\n"
      "rank), device=4T (its memory), host=200G and nvme=12G/6G (a node),\n"
      "bytes a second each way"},
     pass_text_on},
    {{"--measure", "", "measure flops and host on this machine, unless --rates has them"}, pass_on},
};

constexpr Def kOutput[] = {
    {{"--print", "PASS",
      "print the program of one rank after a pass: build, differentiate,\n"
      "recompute, offload_activations, shard, offload, rotate, place; or\n"
      "config: every key with its value"},
     pass_text_on},
    {{"--rank", "R", "whose program --print shows (default: 0)"}, pass_number_on<kMostRanks>},
    {{"--deepspeed-estimate", "", "what DeepSpeed's memory estimators say, beside the plan"},
     pass_on},
    {{"--json", "", "the plan as JSON"}, pass_on},
};

OptionTable plan_table(HandedWords& plan) {
  OptionTable table;
  table.add("The job", std::span<const Def>(kJob), plan);
  table.add("Limits", std::span<const Def>(kLimits), plan);
  table.add("Times", std::span<const Def>(kTimes), plan);
  table.add("Output", std::span<const Def>(kOutput), plan);
  return table;
}

OptionTable plan_options() {
  static HandedWords shown;
  return plan_table(shown);
}

/// A file that cannot be read is said here, as for a job.
void check_words(const std::vector<std::string>& words) {
  if (words.empty()) usage_error("no train.toml given", "dslaunch plan train.toml");
  train_command({.config = words.front(), .overrides = {}});
}

int run_plan(int argc, char** argv) {
  HandedWords plan;
  return run_handed_over(kPlanCommand, plan_table(plan), plan, check_words, argc, argv);
}

}  // namespace

constinit const Command kPlanCommand = {
    .name = "plan",
    .summary = "say what a training job needs, without a cluster: memory, traffic, time",
    .run = run_plan,
    .synopsis = "train.toml [key=value ...] [options]",
    .details =
        "Exit code 65 when it does not fit, with what to change; docs/plan.md explains the output.",
    .options = plan_options,
};

}  // namespace ds::launcher
