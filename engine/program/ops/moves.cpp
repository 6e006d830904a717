// Ops that move bytes: between ranks, between tiers, to zero.
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "engine/program/ops/row.h"

namespace ds {
namespace {

std::span<std::byte> bytes_of(const Tensor& tensor) {
  if (!tensor) return {};
  return {static_cast<std::byte*>(tensor.data), static_cast<std::size_t>(tensor.bytes())};
}

/// Returns `elements` elements of a tensor, from `first` on.
std::span<std::byte> part_of(const Tensor& tensor, std::int64_t first, std::int64_t elements) {
  const std::int64_t each = size_of(tensor.dtype);
  return bytes_of(tensor).subspan(static_cast<std::size_t>(first * each),
                                  static_cast<std::size_t>(elements * each));
}

Group& group_of(const OpSite& at) {
  DS_ASSERT(at.group != nullptr, "a program with communication needs groups");
  return *at.group;
}

std::string text_of(const CommAttrs& comm) {
  std::string text = fmt::format(" cuts={}", fmt::join(comm.cuts, ","));
  if (comm.at > 0) text += fmt::format(" at={}", comm.at);
  if (comm.contributes.empty()) return text;
  text += " from=";
  for (const bool one : comm.contributes) text += one ? '1' : '0';
  return text;
}

void check_exchange(const Operands& o) {
  const CommAttrs& comm = as<ops::Exchange>(o.op()).comm;
  DS_ASSERT(comm.cuts.size() == comm.contributes.size() + 1);
  DS_ASSERT(!o.has_in(0) ||
            (o.in(0).dtype == DType::f32 && comm.cuts.back() <= o.in(0).shape.elements()));
  const auto from = std::count(comm.contributes.begin(), comm.contributes.end(), true);
  DS_ASSERT(o.out(0).dtype == DType::f32 && rows(o.out(0)) == from);
}

// Pieces are cut from the root's own memory; nothing is packed or copied before sending.
BoundOp bind_exchange(const OpSite& at) {
  Group& group = group_of(at);
  const CommAttrs& comm = as<ops::Exchange>(at.op).comm;
  const auto ranks = static_cast<std::size_t>(group.size());
  const auto me = static_cast<std::size_t>(group.rank());
  DS_ASSERT(comm.cuts.size() == ranks + 1 && comm.contributes.size() == ranks);
  std::vector<std::span<const std::byte>> send(ranks);
  std::vector<std::span<std::byte>> receive(ranks);
  const std::int64_t own = comm.cuts[me + 1] - comm.cuts[me];
  const std::int64_t row = at.out(0).shape[1];
  std::int64_t start = comm.at;
  for (std::size_t peer = 0; peer < ranks; ++peer) {
    const std::int64_t first = comm.cuts[peer];
    if (comm.contributes[me]) send[peer] = part_of(at.in(0), first, comm.cuts[peer + 1] - first);
    if (!comm.contributes[peer]) continue;
    receive[peer] = part_of(at.out(0), start, own);
    start += row;
  }
  return [&group, path = at.op.path, send = std::move(send),
          receive = std::move(receive)](StepContext& context) {
    group.about(path);
    group.all_to_all(send, receive, Deadline::after(context.comm_timeout));
  };
}

std::string print_exchange(const Op& op) { return text_of(as<ops::Exchange>(op).comm); }

void check_all_gather(const Operands& o) {
  DS_ASSERT(as<ops::AllGather>(o.op()).comm.cuts.back() <= o.out(0).shape.elements());
  DS_ASSERT(!o.has_in(0) || o.in(0).dtype == o.out(0).dtype);
}

BoundOp bind_all_gather(const OpSite& at) {
  Group& group = group_of(at);
  const CommAttrs& comm = as<ops::AllGather>(at.op).comm;
  const auto me = static_cast<std::size_t>(group.rank());
  std::vector<std::span<std::byte>> pieces;
  for (std::size_t rank = 0; rank + 1 < comm.cuts.size(); ++rank)
    pieces.push_back(part_of(at.out(0), comm.cuts[rank], comm.cuts[rank + 1] - comm.cuts[rank]));
  std::span<std::byte> own;
  if (at.in(0)) own = part_of(at.in(0), comm.at, comm.cuts[me + 1] - comm.cuts[me]);
  return [&device = at.device, &group, &stream = at.stream, path = at.op.path, own, me,
          pieces = std::move(pieces)](StepContext& context) {
    if (!own.empty()) device.copy(pieces[me].data(), own.data(), own.size(), stream);
    group.about(path);
    group.all_gather(pieces, Deadline::after(context.comm_timeout));
  };
}

std::string print_all_gather(const Op& op) { return text_of(as<ops::AllGather>(op).comm); }

void check_copy(const Operands& o) {
  DS_ASSERT(o.in(0).dtype == o.out(0).dtype);
  DS_ASSERT(o.in(0).shape.elements() == o.out(0).shape.elements());
}

BoundOp bind_copy(const OpSite& at) {
  const ValueId source = at.op.in[0], target = at.op.out[0];
  const auto tier = [&](ValueId id) { return at.program.value(id).tier; };
  const auto file_offset = [&](ValueId id) { return at.offsets[static_cast<std::size_t>(id)]; };
  const std::span<std::byte> from = bytes_of(at.in(0)), to = bytes_of(at.out(0));
  TileFiles* const files = at.files;
  if (tier(source) == Tier::nvme)
    return [files, offset = file_offset(source), to](StepContext&) { files->read(offset, to); };
  if (tier(target) == Tier::nvme)
    return
        [files, offset = file_offset(target), from](StepContext&) { files->write(offset, from); };
  return [&device = at.device, &stream = at.stream, from, to](StepContext&) {
    device.copy(to.data(), from.data(), to.size(), stream);
  };
}

void check_clear(const Operands& o) { DS_ASSERT(o.op().in.empty()); }

BoundOp bind_clear(const OpSite& at) {
  std::vector<std::span<std::byte>> cleared;
  for (std::size_t i = 0; i < at.op.out.size(); ++i) cleared.push_back(bytes_of(at.out(i)));
  return [&device = at.device, &stream = at.stream, cleared = std::move(cleared)](StepContext&) {
    for (const std::span<std::byte> each : cleared) device.zero(each.data(), each.size(), stream);
  };
}

}  // namespace

constinit const OpRow ops::Exchange::row{.name = "exchange",
                                         .in = {"root?"},
                                         .out = {"staging"},
                                         .check = check_exchange,
                                         .bind = bind_exchange,
                                         .varies = always,
                                         .print = print_exchange};

constinit const OpRow ops::AllGather::row{.name = "all_gather",
                                          .in = {"slice?"},
                                          .out = {"full"},
                                          .check = check_all_gather,
                                          .bind = bind_all_gather,
                                          .varies = always,
                                          .print = print_all_gather};

constinit const OpRow ops::Copy::row{.name = "copy",
                                     .in = {"from"},
                                     .out = {"to"},
                                     .check = check_copy,
                                     .bind = bind_copy,
                                     .varies = always};

constinit const OpRow ops::Clear::row{
    .name = "clear", .in = {}, .out = {"values..."}, .check = check_clear, .bind = bind_clear};

}  // namespace ds
