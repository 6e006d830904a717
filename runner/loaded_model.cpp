#include "runner/loaded_model.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/program/check_edges.h"
#include "engine/states/fill_states.h"
#include "engine/train/programs.h"

namespace ds {

LoadedModel::LoadedModel(const SampledModel& model, std::vector<Program> programs, Backend& backend)
    : programs_(std::move(programs)) {
  require_weights(model, programs_.front());
  std::vector<const Program*> all;
  std::int64_t scratch = 0;
  for (Program& program : programs_) {
    if (!backend.device->is_host()) program = for_accelerator(std::move(program));
    verify(program);
    scratch = std::max(
        scratch, static_cast<std::int64_t>(backend.kernels->workspace_bytes(program.extents)));
    all.push_back(&program);
  }
  const PlacementPlan plan = place(all, scratch);
  require_fit(plan, *backend.device, 0);
  memory_.emplace(plan, RankGroups{}, backend, nullptr);
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    const Program& program = programs_[i];
    const std::vector<std::int64_t>& offsets = plan.offsets[i];
    const Edges edges = edges_of(program, offsets);
    if (const std::optional<std::string> missing = missing_edge(program, offsets, edges))
      throw Error(ErrorKind::bug, *missing);
    Workplace place = memory_->workplace();
    place.records = recording_pays(program);
    executors_.emplace_back(program, offsets, edges, backend, place);
  }
  fill_states(programs_.front(), ShardSpec{}, executors_.front(), nullptr, *model.weights,
              host_kernels_of(backend), memory_->stream(), backend.host_threads);
}

}  // namespace ds
