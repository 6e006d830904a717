// Builds and places programs for the planner.
#include "engine/train/plan_build.h"

namespace ds {
namespace {

std::string places(const Program& program, const std::vector<std::int64_t>& offsets) {
  std::string text;
  for (std::size_t i = 0; i < offsets.size(); ++i)
    text += fmt::format("place {} {} at {}\n", program.values[i].name,
                        name_of(program.values[i].tier), offsets[i]);
  return text;
}

}  // namespace

BuildRank rank_builder(WorkspaceBytes workspace) {
  return [workspace = std::move(workspace)](const TrainConfig& config, int rank, int world_size) {
    TrainPrograms programs = make_programs(config, rank, world_size);
    PlacementPlan placement = place_programs(programs, workspace);
    return BuiltRank{.step = std::move(programs.step),
                     .spec = programs.spec,
                     .placement = std::move(placement),
                     .flops_per_token = programs.flops_per_token,
                     .flops_per_target = programs.flops_per_target};
  };
}

std::string program_after(std::string_view pass, const TrainConfig& config, int rank,
                          int world_size, const WorkspaceBytes& workspace) {
  std::string text, known;
  const TrainPrograms programs =
      make_programs(config, rank, world_size, [&](std::string_view name, const Program& program) {
        known += fmt::format("{}, ", name);
        if (name == pass) text = print(program);
      });
  if (pass == "place")
    return print(programs.step) +
           places(programs.step, place_programs(programs, workspace).offsets.front());
  if (text.empty())
    throw Error(ErrorKind::usage, fmt::format("--print: this job has no pass '{}'", pass),
                known + "place");
  return text;
}

}  // namespace ds
