// Follows fill_states(), which reads what this file lists.
#include "engine/states/needed_pieces.h"

#include <algorithm>
#include <array>
#include <map>

#include "engine/checkpoint/box_order.h"
#include "engine/program/liveness.h"
#include "engine/states/saved_states.h"

namespace ds {
namespace {

constexpr std::array kNames{kMaster, kMoment1, kMoment2};

class RangeList {
 public:
  RangeList(const Program& step, const ShardSpec& spec) : step_(step), spec_(spec) {}

  void add(int index, const ParamGroup& group) {
    group_ = index;
    const ElementRange share = even_share(group, spec_.rank, spec_.world_size);
    if (group.trains) add_states(group, share);
    const ValueId weights = group.weights != kNoValue ? group.weights : group.slice;
    if (group.trains && is_master(group, weights)) return;
    if (group.weights != kNoValue && step_.value(weights).tier != Tier::nvme)
      return add(0, share.first, share.last);
    for (const OwnedPart& part : group.own) add(0, part.first, part.first + part.elements);
  }
  std::vector<StateRange> take() { return std::move(ranges_); }

 private:
  void add(int state, std::int64_t first, std::int64_t last) {
    if (first < last)
      ranges_.push_back({.group = group_, .state = state, .first = first, .elements = last - first});
  }

  void add_states(const ParamGroup& group, const ElementRange& share) {
    for (const StateTile& tile : group.states) {
      const std::array<ValueId, 3> values{tile.master, tile.moment1, tile.moment2};
      const bool in_files = step_.value(tile.master).tier == Tier::nvme;
      const bool is_part = spec_.stage == 0 && !in_files;
      const std::int64_t end = tile.first + tile.elements;
      for (int state = 0; state < std::ssize(values); ++state) {
        if (values[static_cast<std::size_t>(state)] == kNoValue) continue;
        add(state, is_part ? std::max(tile.first, share.first) : tile.first,
            is_part ? std::min(end, share.last) : end);
      }
    }
  }

  // As in fill_states(): fp32 masters may be the weights themselves, or views of them.
  [[nodiscard]] bool is_master(const ParamGroup& group, ValueId weights) const {
    std::int64_t elements = 0;
    for (const StateTile& tile : group.states)
      if (home_of(step_, tile.master).base == weights) elements += tile.elements;
    return elements == step_.value(weights).shape.elements();
  }

  const Program& step_;
  const ShardSpec& spec_;
  int group_ = 0;
  std::vector<StateRange> ranges_;
};

/// The pieces of one state and the number of its first piece.
struct Numbered {
  const TensorEntry* tensor = nullptr;
  const StateEntry* state = nullptr;
  std::size_t first = 0;
};

}  // namespace

std::vector<StateRange> ranges_to_read(const Program& step, const ShardSpec& spec) {
  RangeList list(step, spec);
  for (std::size_t g = 0; g < step.groups.size(); ++g)
    list.add(static_cast<int>(g), step.groups[g]);
  return list.take();
}

std::vector<bool> needed_pieces(const Manifest& manifest, const Program& step,
                                const std::vector<StateRange>& ranges) {
  std::map<std::pair<std::string_view, std::string_view>, Numbered> states;
  std::size_t count = 0;
  for (const TensorEntry& tensor : manifest.tensors) {
    for (const StateEntry& state : tensor.states) {
      states[{tensor.name, state.name}] = {&tensor, &state, count};
      count += state.pieces.size();
    }
  }
  std::vector<bool> needed(count);
  for (const StateRange& range : ranges) {
    const ParamGroup& group = step.groups[static_cast<std::size_t>(range.group)];
    for (const ParamTensor& tensor : group.tensors) {
      const std::int64_t from = std::max(range.first, tensor.offset);
      const std::int64_t to =
          std::min(range.first + range.elements, tensor.offset + tensor.shape.elements());
      const auto found =
          states.find({tensor.name, kNames[static_cast<std::size_t>(range.state)]});
      if (from >= to || found == states.end()) continue;
      const auto& [entry, state, first] = found->second;
      for_each_run(entry->shape, state->pieces, -1, {from - tensor.offset, to - tensor.offset},
                   [&, entries = state, number = first](const Run& run) {
                     needed[number + static_cast<std::size_t>(run.piece - entries->pieces.data())] =
                         true;
                   });
    }
  }
  return needed;
}

}  // namespace ds
