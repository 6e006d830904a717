// Updates cut into tiles: gradients and states come, weights and states go, several tiles at once.
#include <algorithm>

#include "engine/program/offload.h"
#include "engine/program/slices.h"

namespace ds {
namespace {

/// One tile of one update.
struct Tile {
  Op update;  // of the whole slice
  int number = 0;
  std::int64_t first = 0, elements = 0;  // in the slice
  // Made by prepare():
  std::vector<ValueId> states{};  // where the update works on them; kNoValue: the update has none
  ValueId file = kNoValue, ring = kNoValue;
  ValueId gradient = kNoValue, weights = kNoValue;  // on the host
  std::vector<Op> after{};                          // of the group, once its last tile is updated
};

class StatePass {
 public:
  StatePass(Program step, const OffloadSpec& spec) : program_(std::move(step)), spec_(spec) {}

  Program run() {
    std::vector<Op> ops = std::move(program_.ops);
    program_.ops.clear();
    for (Op& op : ops) {
      if (op.code == OpCode::adamw) {
        cut(op);
      } else if (!tiles_.empty()) {
        tiles_.back().after.push_back(std::move(op));
      } else {
        program_.ops.push_back(std::move(op));
      }
    }
    for (Tile& tile : tiles_) prepare(tile);
    const std::size_t ahead = static_cast<std::size_t>(std::max(spec_.buffers - 2, 1));
    for (std::size_t i = 0; i < std::min(ahead, tiles_.size()); ++i) fetch(tiles_[i]);
    for (std::size_t i = 0; i < tiles_.size(); ++i) {
      if (i + ahead < tiles_.size()) fetch(tiles_[i + ahead]);
      update(tiles_[i]);
      for (Op& op : tiles_[i].after) program_.ops.push_back(std::move(op));
    }
    return std::move(program_);
  }

 private:
  [[nodiscard]] ParamGroup& group_of(const Tile& tile) {
    return program_.groups[static_cast<std::size_t>(tile.update.attrs.group)];
  }
  [[nodiscard]] StreamId side(StreamId stream) const {
    return spec_.overlap ? stream : StreamId::compute;
  }

  void cut(const Op& update) {
    ParamGroup& group = program_.groups[static_cast<std::size_t>(update.attrs.group)];
    group.states.clear();
    for (std::size_t i = 1; i < update.in.size(); ++i) drop(update.in[i], group);
    int number = 0;
    for (const TileRange& range : tiles_of(0, group.state_elements, spec_.tile))
      tiles_.push_back({update, number++, range.first, range.elements});
  }

  // States of the pass before; a master that was the weights themselves stays what it is.
  void drop(ValueId id, const ParamGroup& group) {
    if (id == kNoValue || program_.value(id).kind != ValueKind::state) return;
    DS_ASSERT(id != group.weights && id != group.slice);
    program_.values[static_cast<std::size_t>(id)].persistent = false;
  }

  ValueId add(const std::string& name, ValueKind kind, DType dtype, std::int64_t elements,
              Tier tier, bool persistent) {
    return program_.add_value({.name = name,
                               .kind = kind,
                               .dtype = dtype,
                               .shape = {elements},
                               .persistent = persistent,
                               .tier = tier});
  }

  void prepare(Tile& tile) {
    ParamGroup& group = group_of(tile);
    const std::string name = name_of(tile);
    std::vector<bool> has;
    for (std::size_t i = 1; i < tile.update.in.size(); ++i)
      has.push_back(tile.update.in[i] != kNoValue);
    const std::int64_t all = std::count(has.begin(), has.end(), true) * tile.elements;
    const ValueId home =
        add(name + ".states", ValueKind::state, DType::f32, all, spec_.states, true);
    const std::vector<ValueId> kept = views(home, has, tile.elements, name + ".kept");
    group.states.push_back({.first = group.state_first + tile.first,
                            .elements = tile.elements,
                            .master = kept.at(0),
                            .moment1 = kept.size() > 1 ? kept[1] : kNoValue,
                            .moment2 = kept.size() > 2 ? kept[2] : kNoValue});
    tile.states = kept;
    if (spec_.states == Tier::nvme) {
      tile.file = home;
      tile.ring = add(name + ".ring", ValueKind::state, DType::f32, all, Tier::host, false);
      tile.states = views(tile.ring, has, tile.elements, name + ".work");
    }
    const bool is_here = program_.value(tile.update.in[0]).tier == Tier::host;
    tile.gradient = is_here ? part_of(tile, tile.update.in[0], Tier::host)
                            : add(name + ".grad", ValueKind::gradient, DType::f32, tile.elements,
                                  Tier::host, false);
  }

  std::vector<ValueId> views(ValueId base, const std::vector<bool>& has, std::int64_t elements,
                             const std::string& name) {
    std::vector<ValueId> made;
    std::int64_t at = 0;
    for (const bool one : has) {
      made.push_back(
          one ? add_view(program_, base, at, {elements}, fmt::format("{}.{}", name, made.size()))
              : kNoValue);
      if (one) at += elements;
    }
    return made;
  }

  [[nodiscard]] std::string name_of(const Tile& tile) {
    return fmt::format("{}.tile{}", group_of(tile).name, tile.number);
  }

  void copy(const Tile& tile, const char* what, ValueId from, ValueId to, StreamId stream) {
    program_.ops.push_back({.code = OpCode::copy,
                            .path = fmt::format("{}.{}", what, name_of(tile)),
                            .in = {from},
                            .out = {to},
                            .attrs = {.group = tile.update.attrs.group},
                            .stream = side(stream)});
  }

  void fetch(const Tile& tile) {
    const Tier from = program_.value(tile.update.in[0]).tier;
    if (from != Tier::host) {
      copy(tile, from == Tier::device ? "grad_out" : "read_grad",
           part_of(tile, tile.update.in[0], Tier::device), tile.gradient,
           from == Tier::device ? StreamId::evict : StreamId::fetch);
    }
    if (tile.file != kNoValue) copy(tile, "read", tile.file, tile.ring, StreamId::fetch);
  }

  // Weights of fp32 may have been the master itself.
  void update(Tile& tile) {
    Op op = tile.update;
    const ValueId weights = op.out.back() == kNoValue ? op.in[1] : op.out.back();
    const bool is_master = op.out.back() == kNoValue;
    const Tier home = program_.value(weights).tier;
    op.path += fmt::format(".tile{}", tile.number);
    op.in[0] = tile.gradient;
    for (std::size_t i = 0; i < tile.states.size(); ++i) op.in[i + 1] = op.out[i] = tile.states[i];
    const ValueId target = part_of(tile, weights, home);
    ValueId source = tile.states[0];
    if (!is_master) {
      source = home == Tier::host ? target : staging(tile, program_.value(weights).dtype, home);
      op.out.back() = source;
      if (home == Tier::nvme)
        op.out.back() = add_view(program_, source, 0, {tile.elements}, name_of(tile) + ".updated");
    }
    program_.ops.push_back(std::move(op));
    if (source != target)
      copy(tile, home == Tier::nvme ? "write_weights" : "weights_in", source, target,
           home == Tier::nvme ? StreamId::evict : StreamId::fetch);
    if (tile.file != kNoValue) copy(tile, "write", tile.ring, tile.file, StreamId::evict);
  }

  /// The updated weights of a tile on their way.
  ValueId staging(const Tile& tile, DType dtype, Tier home) {
    const std::int64_t elements = home == Tier::nvme ? padded(tile.elements) : tile.elements;
    const std::string name = name_of(tile) + ".weights";
    const ValueId made = add(name, ValueKind::parameter, dtype, elements, Tier::host, false);
    if (elements == tile.elements) return made;
    const ValueId rest = add_view(program_, made, tile.elements, {elements - tile.elements},
                                  name + ".rest");  // what fills up the last page
    program_.ops.push_back({.code = OpCode::clear,
                            .path = "clear." + name,
                            .out = {rest},
                            .attrs = {.group = tile.update.attrs.group}});
    return made;
  }

  ValueId part_of(const Tile& tile, ValueId whole, Tier home) {
    const Value& value = program_.value(whole);
    const ValueId base = value.base == kNoValue ? whole : value.base;
    const std::int64_t offset = value.base == kNoValue ? 0 : value.offset;
    const std::int64_t elements = home == Tier::nvme ? padded(tile.elements) : tile.elements;
    return add_view(program_, base, offset + tile.first, {elements},
                    fmt::format("{}.part{}", name_of(tile), parts_++));
  }

  Program program_;
  const OffloadSpec& spec_;
  std::vector<Tile> tiles_;
  int parts_ = 0;  // numbers names of views
};

}  // namespace

Program offload_states(Program step, const OffloadSpec& spec) {
  if (spec.states == Tier::device) return step;
  return StatePass(std::move(step), spec).run();
}

}  // namespace ds
