// The pass offload_states(): cuts updates into tiles whose copies overlap: gradients and states in,
// weights and states out.
#include <algorithm>

#include "engine/program/decay.h"
#include "engine/program/offload.h"
#include "engine/program/slices.h"
#include "engine/program/spread.h"

namespace ds {
namespace {

/// One tile of one update.
struct Tile {
  Op update;  // of a whole part
  std::size_t number = 0;
  Tier at = Tier::host;                  // the tier that runs the update
  std::int64_t first = 0, elements = 0;  // of the group
  std::int64_t offset = 0;               // into the operands of `update`
  // Filled in by prepare():
  // Operands of the update; kNoValue: the optimizer does not have it
  std::vector<ValueId> states{};
  ValueId from = kNoValue, to = kNoValue;  // where they are kept: before the update, and after it
  ValueId work = kNoValue;                 // all of `states`; may be `to` itself
  ValueId gradient = kNoValue;             // on the host
};

/// One group's part of the ops that follow control.
struct Unit {
  std::size_t parts = 0;  // whose updates have been cut
  std::vector<Tile> tiles{};
  std::vector<Op> after{};  // ops after the last tile's update
};

class StatePass {
 public:
  StatePass(Program step, const OffloadSpec& spec) : program_(std::move(step)), spec_(spec) {}

  Program run() {
    units_.resize(program_.groups.size());
    std::vector<Op> ops = std::move(program_.ops);
    program_.ops.clear();
    bool is_tail = false;
    for (Op& op : ops) {
      is_tail = is_tail || is<ops::Control>(op);
      if (is<ops::Update>(op)) {
        cut(op);
      } else if (is_tail && !is<ops::Control>(op)) {
        units_[static_cast<std::size_t>(op.group)].after.push_back(std::move(op));
      } else {
        program_.ops.push_back(std::move(op));
      }
    }
    emit_units();
    return std::move(program_);
  }

 private:
  // Groups come in the same order on every rank: a group without tiles here has some elsewhere.
  // States are read ahead of their updates, gradients as soon as they are complete.
  void emit_units() {
    const bool is_early = spec_.time == UpdateMoment::backward;
    const auto ahead = static_cast<std::size_t>(std::max(spec_.buffers - 2, 1));
    const std::vector<int> order = update_order(program_, spec_.time);
    std::vector<Tile*> all;
    for (const int g : order) {
      for (Tile& tile : units_[static_cast<std::size_t>(g)].tiles) all.push_back(&tile);
    }
    for (std::size_t i = 0; i < all.size(); ++i) all[i]->at = tier_of(*all[i], i);
    for (Tile* const tile : all) prepare(*tile);
    const auto bring = [&](std::size_t i) {
      if (i >= all.size()) return;
      read(*all[i]);
      if (!is_early) bring_gradient(*all[i]);
    };
    for (std::size_t i = 0; i < ahead; ++i) bring(i);
    std::size_t next = 0;
    for (const int g : order) {
      Unit& unit = units_[static_cast<std::size_t>(g)];
      const std::size_t count = unit.tiles.size();
      for (std::size_t k = 0; is_early && k < std::min(ahead, count); ++k)
        bring_gradient(unit.tiles[k]);
      for (std::size_t k = 0; k < count; ++k) {
        bring(next++ + ahead);
        if (is_early && k + ahead < count) bring_gradient(unit.tiles[k + ahead]);
        update(unit.tiles[k]);
      }
      for (Op& op : unit.after) program_.ops.push_back(std::move(op));
    }
  }

  [[nodiscard]] ParamGroup& group_of(const Tile& tile) {
    return program_.groups[static_cast<std::size_t>(tile.update.group)];
  }

  void cut(const Op& update) {
    ParamGroup& group = program_.groups[static_cast<std::size_t>(update.group)];
    group.states.clear();
    for (std::size_t i = 1; i < update.in.size(); ++i) drop(update.in[i], group);
    Unit& unit = units_[static_cast<std::size_t>(update.group)];
    const OwnedPart part = group.own.at(unit.parts++);
    for (const OwnedPart& tile : tiles_of({part}, spec_.tile))
      unit.tiles.push_back({.update = update,
                            .number = unit.tiles.size(),
                            .first = tile.first,
                            .elements = tile.elements,
                            .offset = tile.first - part.first});
  }

  // Drops a state that shard() made. A master that is the weights' own memory stays.
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

  // The device's tiles are spread evenly among the others, so that both sides are always busy.
  [[nodiscard]] Tier tier_of(const Tile& tile, std::size_t number) {
    const ParamGroup& group = group_of(tile);
    const ValueId weights = group.weights != kNoValue ? group.weights : group.slice;
    const bool is_near = spec_.states == Tier::host && program_.value(weights).tier != Tier::nvme &&
                         program_.value(tile.update.in[0]).tier != Tier::nvme;
    const auto upto = [&](std::size_t n) {
      return static_cast<std::int64_t>(static_cast<double>(n) * spec_.device_share);
    };
    return is_near && upto(number + 1) > upto(number) ? Tier::device : Tier::host;
  }

  void prepare(Tile& tile) {
    ParamGroup& group = group_of(tile);
    const std::string name = name_of(tile);
    std::vector<bool> has;
    for (std::size_t i = 1; i < tile.update.in.size(); ++i)
      has.push_back(tile.update.in[i] != kNoValue);
    const std::int64_t all = std::count(has.begin(), has.end(), true) * tile.elements;
    const auto kept = [&](int slot) {
      const std::string suffix = spec_.keeps_two() ? fmt::format(".states{}", slot) : ".states";
      return add(name + suffix, ValueKind::state, DType::f32, all, spec_.states, true);
    };
    tile.from = kept(spec_.odd ? 1 : 0);
    tile.to = spec_.keeps_two() ? kept(spec_.odd ? 0 : 1) : tile.from;
    tile.work = spec_.states != tile.at
                    ? add(name + ".ring", ValueKind::state, DType::f32, all, tile.at, false)
                    : tile.to;
    const std::vector<ValueId> now = views(tile.from, has, tile.elements, name + ".kept");
    group.states.push_back({.first = tile.first,
                            .elements = tile.elements,
                            .master = now.at(0),
                            .moment1 = now.size() > 1 ? now[1] : kNoValue,
                            .moment2 = now.size() > 2 ? now[2] : kNoValue});
    tile.states =
        tile.work == tile.from ? now : views(tile.work, has, tile.elements, name + ".work");
    const bool is_here = program_.value(tile.update.in[0]).tier == tile.at;
    tile.gradient = is_here ? part_of(tile, tile.update.in[0], tile.at)
                            : add(name + ".grad", ValueKind::gradient, DType::f32, tile.elements,
                                  tile.at, false);
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
    const std::string path = fmt::format("{}.{}", what, name_of(tile));
    program_.ops.push_back(copy_between_tiers(spec_, {path, tile.update.group, stream}, from, to));
  }

  void bring_gradient(const Tile& tile) {
    const Tier from = program_.value(tile.update.in[0]).tier;
    if (from == tile.at) return;
    copy(tile, from == Tier::device ? "grad_out" : "read_grad",
         part_of(tile, tile.update.in[0], Tier::device), tile.gradient,
         from == Tier::device ? StreamId::evict : StreamId::fetch);
  }

  void read(const Tile& tile) {
    if (tile.work != tile.from) copy(tile, "read", tile.from, tile.work, StreamId::fetch);
  }

  // The master may be the fp32 weights themselves.
  void update(Tile& tile) {
    Op op = tile.update;
    const ValueId weights = op.out.back() == kNoValue ? op.in[1] : op.out.back();
    const bool is_master = op.out.back() == kNoValue;
    const Tier home = program_.value(weights).tier;
    op.path += fmt::format(".tile{}", tile.number);
    op.in[0] = tile.gradient;
    std::get<ops::Update>(op.attrs).update.decay_cuts =
        decay_cuts(group_of(tile), tile.first, tile.elements);
    for (std::size_t i = 0; i < tile.states.size(); ++i) op.in[i + 1] = op.out[i] = tile.states[i];
    const ValueId target = part_of(tile, weights, home);
    ValueId source = tile.states[0];
    if (!is_master) {
      source = home == tile.at ? target : staging(tile, program_.value(weights).dtype, home);
      op.out.back() = source;
      if (home == Tier::nvme)
        op.out.back() = add_view(program_, source, 0, {tile.elements}, name_of(tile) + ".updated");
    }
    program_.ops.push_back(std::move(op));
    if (source != target)
      copy(tile, home == Tier::nvme ? "write_weights" : "weights_in", source, target,
           home == Tier::device ? StreamId::fetch : StreamId::evict);
    if (tile.work != tile.to) copy(tile, "write", tile.work, tile.to, StreamId::evict);
  }

  /// Returns the memory of a tile's updated weights on their way out.
  ValueId staging(const Tile& tile, DType dtype, Tier home) {
    const std::int64_t elements = home == Tier::nvme ? padded(tile.elements) : tile.elements;
    const std::string name = name_of(tile) + ".weights";
    const ValueId made = add(name, ValueKind::parameter, dtype, elements, tile.at, false);
    if (elements == tile.elements) return made;
    const ValueId rest = add_view(program_, made, tile.elements, {elements - tile.elements},
                                  name + ".rest");  // fills up the last page
    program_.ops.push_back({.attrs = ops::Clear{},
                            .path = "clear." + name,
                            .out = {rest},
                            .group = tile.update.group});
    return made;
  }

  ValueId part_of(const Tile& tile, ValueId whole, Tier home) {
    const Value& value = program_.value(whole);
    const ValueId base = value.base == kNoValue ? whole : value.base;
    const std::int64_t offset = value.base == kNoValue ? 0 : value.offset;
    const std::int64_t elements = home == Tier::nvme ? padded(tile.elements) : tile.elements;
    return add_view(program_, base, offset + tile.offset, {elements},
                    fmt::format("{}.part{}", name_of(tile), parts_++));
  }

  Program program_;
  const OffloadSpec& spec_;
  std::vector<Unit> units_;  // by group
  int parts_ = 0;            // makes names of views unique
};

}  // namespace

Program offload_states(Program step, const OffloadSpec& spec) {
  if (spec.states == Tier::device) return step;
  return StatePass(std::move(step), spec).run();
}

}  // namespace ds
