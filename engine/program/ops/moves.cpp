// Ops that move bytes: between ranks, between tiers, to zero.
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "engine/program/ops/row.h"
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

Group& group_of(const OpSite& at) {
  DS_ASSERT(at.group != nullptr, "a program with communication needs groups");
  return *at.group;
}

std::string text_of(const CommAttrs& comm) {
  std::string text = fmt::format(" cuts={}", fmt::join(comm.cuts, ","));
  if (comm.length != INT64_MAX) text += fmt::format(" bucket={}+{}", comm.from, comm.length);
  if (comm.contributes.empty()) return text;
  text += " from=";
  for (const bool one : comm.contributes) text += one ? '1' : '0';
  return text;
}

void check_exchange(const Operands& o) {
  const CommAttrs& comm = as<ops::Exchange>(o.op()).comm;
  DS_ASSERT(comm.cuts.size() == comm.contributes.size() + 1);
  DS_ASSERT(!o.has_in(0) || is(o.in(0), DType::f32, {comm.cuts.back()}));
  const auto from = std::count(comm.contributes.begin(), comm.contributes.end(), true);
  DS_ASSERT(o.out(0).dtype == DType::f32 && rows(o.out(0)) == from);
}

// Slices are cut from the root's own memory; nothing is packed or copied before sending.
BoundOp bind_exchange(const OpSite& at) {
  Group& group = group_of(at);
  const CommAttrs& comm = as<ops::Exchange>(at.op).comm;
  const auto ranks = static_cast<std::size_t>(group.size());
  const auto me = static_cast<std::size_t>(group.rank());
  DS_ASSERT(comm.cuts.size() == ranks + 1 && comm.contributes.size() == ranks);
  std::vector<std::span<const std::byte>> send(ranks);
  std::vector<std::span<std::byte>> receive(ranks);
  const std::span<std::byte> root = bytes_of(at.in(0)), staging = bytes_of(at.out(0));
  const PieceRange own = piece_of(comm, me);
  std::int64_t row = 0;
  for (std::size_t peer = 0; peer < ranks; ++peer) {
    if (comm.contributes[me]) send[peer] = part_of(root, piece_of(comm, peer), sizeof(float));
    if (!comm.contributes[peer]) continue;
    const std::int64_t start = row++ * (comm.cuts[me + 1] - comm.cuts[me]) - comm.cuts[me];
    receive[peer] = part_of(staging, {start + own.first, start + own.last}, sizeof(float));
  }
  return [&group, path = at.op.path, send = std::move(send),
          receive = std::move(receive)](StepContext& context) {
    group.about(path);
    group.all_to_all(send, receive, Deadline::after(context.comm_timeout));
  };
}

std::string print_exchange(const Op& op) { return text_of(as<ops::Exchange>(op).comm); }

void check_all_gather(const Operands& o) {
  DS_ASSERT(o.out(0).shape.elements() == as<ops::AllGather>(o.op()).comm.cuts.back());
  DS_ASSERT(!o.has_in(0) || o.in(0).dtype == o.out(0).dtype);
}

BoundOp bind_all_gather(const OpSite& at) {
  Group& group = group_of(at);
  const CommAttrs& comm = as<ops::AllGather>(at.op).comm;
  const Tensor whole = at.out(0), slice = at.in(0);
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
