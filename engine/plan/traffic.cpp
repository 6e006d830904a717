// traffic_of(): what each op that moves bytes moves.
#include "engine/plan/traffic.h"

namespace ds {
namespace {

class Count {
 public:
  Count(const Program& step, const ShardSpec& spec, int slots)
      : step_(step), spec_(spec), slots_(slots) {}

  void add(const Op& op) {
    if (is<ops::Exchange>(op)) return exchange(op);
    if (is<ops::AllGather>(op)) return all_gather(op);
    if (is<ops::Copy>(op)) return copy(op);
    if (!is<ops::Update>(op)) return;
    for (const ValueId id : op.in) update(id);
    for (const ValueId id : op.out) update(id);
  }

  [[nodiscard]] const Traffic& traffic() const { return traffic_; }

 private:
  [[nodiscard]] std::int64_t bytes(ValueId id) const {
    if (id == kNoValue) return 0;
    const Value& value = step_.value(id);
    return value.shape.elements() * size_of(value.dtype);
  }

  void update(ValueId id) {
    if (id == kNoValue) return;
    const bool on_device = step_.value(id).tier == Tier::device;
    (on_device ? traffic_.optimizer_device : traffic_.optimizer_host) += bytes(id);
  }

  [[nodiscard]] bool on_my_node(int rank) const { return rank / slots_ == spec_.rank / slots_; }

  void send(int to, std::int64_t bytes) {
    (on_my_node(to) ? traffic_.sent_in_node : traffic_.sent_to_nodes) += bytes;
  }
  void receive(int from, std::int64_t bytes) {
    (on_my_node(from) ? traffic_.received_in_node : traffic_.received_from_nodes) += bytes;
  }

  /// Returns the bytes of the rank's piece.
  static std::int64_t piece(const CommAttrs& comm, int rank, DType dtype) {
    const auto r = static_cast<std::size_t>(rank);
    return (comm.cuts[r + 1] - comm.cuts[r]) * size_of(dtype);
  }

  void exchange(const Op& op) {
    const CommAttrs& comm = as<ops::Exchange>(op).comm;
    const DType dtype = step_.value(op.out.front()).dtype;
    for (int rank = 0; rank < spec_.world_size; ++rank) {
      if (rank == spec_.rank) continue;
      if (comm.contributes[static_cast<std::size_t>(spec_.rank)])
        send(rank, piece(comm, rank, dtype));
      if (comm.contributes[static_cast<std::size_t>(rank)])
        receive(rank, piece(comm, spec_.rank, dtype));
    }
  }

  void all_gather(const Op& op) {
    const CommAttrs& comm = as<ops::AllGather>(op).comm;
    const DType dtype = step_.value(op.out.front()).dtype;
    for (int rank = 0; rank < spec_.world_size; ++rank) {
      if (rank == spec_.rank) continue;
      send(rank, piece(comm, spec_.rank, dtype));
      receive(rank, piece(comm, rank, dtype));
    }
  }

  /// Between files and the device, bytes pass through host memory.
  void copy(const Op& op) {
    const Tier from = step_.value(op.in.front()).tier, to = step_.value(op.out.front()).tier;
    const std::int64_t moved = bytes(op.out.front());
    if (from == to) return;
    if (from == Tier::nvme) traffic_.nvme_read += moved;
    if (to == Tier::nvme) traffic_.nvme_written += moved;
    if (from == Tier::device) traffic_.to_host += moved;
    if (to == Tier::device) traffic_.to_device += moved;
  }

  const Program& step_;
  const ShardSpec& spec_;
  int slots_;
  Traffic traffic_;
};

}  // namespace

Traffic traffic_of(const Program& step, const ShardSpec& spec, int slots) {
  Count count(step, spec, slots);
  for (const Op& op : step.ops) count.add(op);
  return count.traffic();
}

}  // namespace ds
