// The pass offload_weights(): keeps split weights outside of the device and fetches slices where
// they are gathered.
#include <map>

#include "engine/program/liveness.h"
#include "engine/program/offload.h"
#include "engine/program/slices.h"

namespace ds {
namespace {

class WeightPass {
 public:
  WeightPass(Program program, const ShardSpec& shard, const OffloadSpec& spec)
      : program_(std::move(program)), shard_(shard), spec_(spec) {}

  Program run() {
    for (std::size_t g = 0; g < program_.groups.size(); ++g) {
      ParamGroup& group = program_.groups[g];
      if (group.slice == kNoValue) continue;
      group_of_slice_[group.slice] = static_cast<int>(g);
      Value& slice = program_.values[static_cast<std::size_t>(group.slice)];
      slice.tier = spec_.weights;
      if (slice.tier == Tier::nvme) slice.shape = {padded(slice.shape.elements())};
    }
    for (Value& value : program_.values)
      if (group_of_slice_.contains(value.base)) value.tier = spec_.weights;
    std::vector<Op> ops = std::move(program_.ops);
    program_.ops.clear();
    for (Op& op : ops) add(std::move(op));
    return std::move(program_);
  }

 private:
  /// Returns the group of a slice, or of a part of one.
  [[nodiscard]] int slice_group(ValueId id) const {
    if (id == kNoValue) return -1;
    const auto found = group_of_slice_.find(home_of(program_, id).base);
    return found == group_of_slice_.end() ? -1 : found->second;
  }

  void add(Op op) {
    if (is<ops::AllGather>(op) && slice_group(op.in[0]) >= 0) {
      if (as<ops::AllGather>(op).comm.cuts.front() == 0)
        bring_in(op);  // the first bucket fetches the whole slice
      op.in = {kNoValue};
      program_.ops.push_back(std::move(op));
      return;
    }
    const ValueId written = is<ops::Update>(op) ? op.out.back() : kNoValue;
    if (slice_group(written) < 0 || spec_.states != Tier::device) {
      program_.ops.push_back(std::move(op));
      return;
    }
    const Value& slice = program_.value(written);
    op.out.back() = program_.add_value({.name = op.path + ".weights",
                                        .kind = ValueKind::parameter,
                                        .dtype = slice.dtype,
                                        .shape = slice.shape});
    const Op sent = copy("weights_out", op.group, op.out.back(), written, StreamId::evict);
    program_.ops.push_back(std::move(op));
    program_.ops.push_back(sent);
  }

  Op copy(const char* what, int g, ValueId from, ValueId to, StreamId stream) {
    const std::string& group = program_.groups[static_cast<std::size_t>(g)].name;
    return copy_between_tiers(spec_, {fmt::format("{}.{}", what, group), g, stream}, from, to);
  }

  // Fetches straight into this rank's parts of the whole copy.
  void bring_in(const Op& gather) {
    const int g = gather.group;
    const std::string whole = program_.value(gather.out[0]).name;
    const std::vector<OwnedPart> own =
        owned_by(program_.groups[static_cast<std::size_t>(g)], shard_, shard_.rank);
    const bool is_near = spec_.weights == Tier::host;
    for (const OwnedPart& tile : is_near ? own : tiles_of(own, spec_.tile)) {
      const std::string name = fmt::format("{}.own{}", whole, tile.at);
      const ValueId to = add_view(program_, gather.out[0], tile.first, {tile.elements}, name);
      if (is_near) {
        const ValueId from =
            add_view(program_, gather.in[0], tile.at, {tile.elements}, name + ".host");
        program_.ops.push_back(copy("weights_in", g, from, to, StreamId::fetch));
        continue;
      }
      const ValueId ring = program_.add_value({.name = name + ".ring",
                                               .kind = ValueKind::parameter,
                                               .dtype = program_.value(gather.in[0]).dtype,
                                               .shape = {padded(tile.elements)},
                                               .tier = Tier::host});
      const ValueId file =
          add_view(program_, gather.in[0], tile.at, {padded(tile.elements)}, name + ".file");
      const ValueId part = add_view(program_, ring, 0, {tile.elements}, name + ".part");
      program_.ops.push_back(copy("read", g, file, ring, StreamId::fetch));
      program_.ops.push_back(copy("weights_in", g, part, to, StreamId::fetch));
    }
  }

  Program program_;
  const ShardSpec& shard_;
  const OffloadSpec& spec_;
  std::map<ValueId, int> group_of_slice_;
};

}  // namespace

Program offload_weights(Program program, const ShardSpec& shard, const OffloadSpec& spec) {
  if (spec.weights == Tier::device) return program;
  return WeightPass(std::move(program), shard, spec).run();
}

}  // namespace ds
