// Executor: binds ops that move bytes: between ranks, between tiers, to zero.
#include <utility>

#include "engine/execute/executor.h"
#include "engine/program/slices.h"

namespace ds {
namespace {

std::span<std::byte> bytes_of(const Tensor& tensor) {
  if (!tensor) return {};
  return {static_cast<std::byte*>(tensor.data), static_cast<std::size_t>(tensor.bytes())};
}

std::span<std::byte> part_of(std::span<std::byte> all, const PieceRange& range, std::size_t each) {
  return all.subspan(static_cast<std::size_t>(range.first) * each,
                     static_cast<std::size_t>(range.elements()) * each);
}

}  // namespace

Executor::Bound Executor::bind_clear(const Op& op) {
  std::vector<Tensor> cleared;
  for (const ValueId id : op.out) cleared.push_back(tensor(id));
  Stream& stream = stream_of(op);
  return [this, &stream, cleared = std::move(cleared)](StepContext&) {
    for (const Tensor& each : cleared) {
      device_.zero(each.data, static_cast<std::size_t>(each.bytes()), stream);
    }
  };
}

Executor::Bound Executor::bind_copy(const Op& op) {
  const Value &source = program_.value(op.in.at(0)), &target = program_.value(op.out.at(0));
  const auto file_offset = [&](ValueId id) { return offsets_[static_cast<std::size_t>(id)]; };
  if (source.tier == Tier::nvme) {
    return [this, at = file_offset(op.in[0]), to = bytes_of(out(op, 0))](StepContext&) {
      at_.files->read(at, to);
    };
  }
  if (target.tier == Tier::nvme) {
    return [this, at = file_offset(op.out[0]), from = bytes_of(in(op, 0))](StepContext&) {
      at_.files->write(at, from);
    };
  }
  const std::span<std::byte> from = bytes_of(in(op, 0)), to = bytes_of(out(op, 0));
  Stream& stream = stream_of(op);
  return [this, from, to, &stream](StepContext&) {
    device_.copy(to.data(), from.data(), to.size(), stream);
  };
}

// Slices are cut from the root's own memory; nothing is packed or copied before sending.
Executor::Bound Executor::bind_exchange(const Op& op) {
  Group& group = group_of(op);
  const CommAttrs& comm = op.attrs.comm;
  const auto ranks = static_cast<std::size_t>(group.size());
  const auto me = static_cast<std::size_t>(group.rank());
  DS_ASSERT(comm.cuts.size() == ranks + 1 && comm.contributes.size() == ranks);
  std::vector<std::span<const std::byte>> send(ranks);
  std::vector<std::span<std::byte>> receive(ranks);
  const std::span<std::byte> root = bytes_of(in(op, 0)), staging = bytes_of(out(op, 0));
  const PieceRange own = piece_of(comm, me);
  std::int64_t row = 0;
  for (std::size_t peer = 0; peer < ranks; ++peer) {
    if (comm.contributes[me]) send[peer] = part_of(root, piece_of(comm, peer), sizeof(float));
    if (!comm.contributes[peer]) continue;
    const std::int64_t start = row++ * (comm.cuts[me + 1] - comm.cuts[me]) - comm.cuts[me];
    receive[peer] = part_of(staging, {start + own.first, start + own.last}, sizeof(float));
  }
  return [&group, path = op.path, send = std::move(send),
          receive = std::move(receive)](StepContext& context) {
    group.about(path);
    group.all_to_all(send, receive, Deadline::after(context.comm_timeout));
  };
}

Executor::Bound Executor::bind_all_gather(const Op& op) {
  Group& group = group_of(op);
  const CommAttrs& comm = op.attrs.comm;
  const Tensor whole = out(op, 0), slice = in(op, 0);
  const auto each = static_cast<std::size_t>(size_of(whole.dtype));
  const auto me = static_cast<std::size_t>(group.rank());
  std::vector<std::span<std::byte>> pieces;
  for (std::size_t rank = 0; rank + 1 < comm.cuts.size(); ++rank)
    pieces.push_back(part_of(bytes_of(whole), piece_of(comm, rank), each));
  std::span<std::byte> own;
  if (slice) {
    const PieceRange range = piece_of(comm, me);
    own = part_of(bytes_of(slice), {range.first - comm.cuts[me], range.last - comm.cuts[me]}, each);
  }
  Stream& stream = stream_of(op);
  return [this, &group, &stream, path = op.path, own, me,
          pieces = std::move(pieces)](StepContext& context) {
    if (!own.empty()) device_.copy(pieces[me].data(), own.data(), own.size(), stream);
    group.about(path);
    group.all_gather(pieces, Deadline::after(context.comm_timeout));
  };
}

}  // namespace ds
