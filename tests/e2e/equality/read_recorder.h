// Checks that ranges_to_read() lists exactly what a rank reads at its start.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/states/needed_pieces.h"
#include "engine/states/state_source.h"
#include "engine/train/trainer.h"

namespace ds::test {

/// Elements [first, end) by tensor and state, joined where they touch.
class ElementSets {
 public:
  void add(const std::string& tensor, std::string_view state, std::int64_t first,
           std::int64_t count) {
    if (count > 0) ranges_[{tensor, std::string(state)}].emplace_back(first, first + count);
  }
  [[nodiscard]] auto joined() const {
    auto all = ranges_;
    for (auto& [key, list] : all) {
      std::ranges::sort(list);
      std::vector<std::pair<std::int64_t, std::int64_t>> whole;
      for (const auto& range : list) {
        if (!whole.empty() && range.first <= whole.back().second) {
          whole.back().second = std::max(whole.back().second, range.second);
        } else {
          whole.push_back(range);
        }
      }
      list = std::move(whole);
    }
    return all;
  }

 private:
  std::map<std::pair<std::string, std::string>, std::vector<std::pair<std::int64_t, std::int64_t>>>
      ranges_;
};

/// A shared source of zeros that notes what is read.
class ReadRecorder final : public StateSource {
 public:
  [[nodiscard]] bool has(std::string_view /*state*/) const override { return true; }
  [[nodiscard]] bool is_shared() const override { return true; }
  void read(const ParamTensor& tensor, std::string_view state, std::int64_t first,
            std::span<float> into) override {
    std::ranges::fill(into, 0.0F);
    read_.add(tensor.name, state, first, std::ssize(into));
  }
  [[nodiscard]] auto joined() const { return read_.joined(); }

 private:
  ElementSets read_;
};

/// Before the states are loaded. Errors: Error{bug} if the list differs.
inline void check_ranges_to_read(Trainer& trainer) {
  constexpr std::array kNames{kMaster, kMoment1, kMoment2};
  const Program& step = trainer.step_program();
  ElementSets listed;
  for (const StateRange& range : ranges_to_read(step, trainer.spec())) {
    for (const ParamTensor& tensor : step.groups[static_cast<std::size_t>(range.group)].tensors) {
      const std::int64_t from = std::max(range.first, tensor.offset);
      const std::int64_t to =
          std::min(range.first + range.elements, tensor.offset + tensor.shape.elements());
      listed.add(tensor.name, kNames[static_cast<std::size_t>(range.state)], from - tensor.offset,
                 to - from);
    }
  }
  ReadRecorder recorder;
  trainer.load(recorder);
  if (recorder.joined() != listed.joined())
    throw Error(ErrorKind::bug, "ranges_to_read() differs from what is read");
}

}  // namespace ds::test
