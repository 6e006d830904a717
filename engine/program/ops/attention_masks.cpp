// What attention's scores depend on beside queries and keys: the ranges of keys that queries see,
// and T5's relative position bias with its reverse.
#include "engine/program/gradients.h"
#include "engine/program/ops/row.h"

namespace ds {
namespace {

void check_key_ranges(const Operands& o) {
  const Value &documents = o.in(0), &ranges = o.out(0);
  DS_ASSERT(ranges.dtype == DType::i32 && ranges.shape.axes() == 3 && ranges.shape[2] == 2);
  DS_ASSERT(is(documents, DType::i32, {ranges.shape[0] * ranges.shape[1]}));
  DS_ASSERT(!o.has_in(1) || (o.in(1).dtype == DType::i32 && rows(o.in(1)) % ranges.shape[0] == 0));
}

BoundOp bind_key_ranges(const OpSite& at) {
  return call(at, KeyRanges{.documents = at.in(0), .key_documents = at.in(1), .ranges = at.out(0)});
}

// Documents are data.
void reverse_key_ranges(Reverse&, const Op&) {}

template <class Kind>
void check_bias(const Op& op, const Value& table, const Value& bias) {
  const auto& attrs = as<Kind>(op);
  DS_ASSERT(bias.dtype == DType::f32 && columns(table) == rows(bias));
  DS_ASSERT(attrs.queries >= 0 && attrs.queries <= columns(bias));
  DS_ASSERT(attrs.queries != 0 || columns(bias) % 2 == 1);
  DS_ASSERT(rows(table) >= (attrs.bidirectional ? 4 : 2) && attrs.max_distance > 0);
}

void check_relative_bias(const Operands& o) {
  check_bias<ops::RelativeBias>(o.op(), o.in(0), o.out(0));
  DS_ASSERT(!o.has_in(1) || is(o.in(1), DType::i32, {1}));
}

BoundOp bind_relative_bias(const OpSite& at) {
  const auto& attrs = as<ops::RelativeBias>(at.op);
  return call(at, RelativeBias{.table = at.in(0),
                               .first = at.in(1),
                               .out = at.out(0),
                               .queries = attrs.queries,
                               .max_distance = attrs.max_distance,
                               .bidirectional = attrs.bidirectional});
}

void reverse_relative_bias(Reverse& reverse, const Op& op) {
  const ValueId dbias = reverse.gradient_of(op.out[0]);
  if (dbias == kNoValue) return;
  DS_ASSERT(op.in[1] == kNoValue, "only decoding moves the first query");
  const auto& attrs = as<ops::RelativeBias>(op);
  const auto dtable = reverse.parameter(op.in[0]);
  reverse.emit(op, "",
               ops::RelativeBiasBackward{.queries = attrs.queries,
                                         .max_distance = attrs.max_distance,
                                         .bidirectional = attrs.bidirectional},
               {dbias}, {dtable.value}, {dtable.adds});
}

template <class Kind>
std::string print_bias(const Op& op) {
  const auto& attrs = as<Kind>(op);
  std::string text;
  if (attrs.queries != 0) text += fmt::format(" queries={}", attrs.queries);
  text += fmt::format(" distance={}", attrs.max_distance);
  return text + (attrs.bidirectional ? "" : " backwards");
}

void check_relative_bias_backward(const Operands& o) {
  check_bias<ops::RelativeBiasBackward>(o.op(), o.out(0), o.in(0));
  DS_ASSERT(o.out(0).dtype == DType::f32);
}

BoundOp bind_relative_bias_backward(const OpSite& at) {
  const auto& attrs = as<ops::RelativeBiasBackward>(at.op);
  return call(at, RelativeBiasBackward{.dout = at.in(0),
                                       .dtable = at.out(0),
                                       .queries = attrs.queries,
                                       .max_distance = attrs.max_distance,
                                       .bidirectional = attrs.bidirectional,
                                       .accumulate = at.op.adds_to(0)});
}

}  // namespace

constinit const OpRow ops::KeyRanges::row{.name = "key_ranges",
                                          .in = {"documents", "key_documents?"},
                                          .out = {"ranges"},
                                          .check = check_key_ranges,
                                          .bind = bind_key_ranges,
                                          .reverse = reverse_key_ranges};

constinit const OpRow ops::RelativeBias::row{.name = "relative_bias",
                                             .in = {"table", "first?"},
                                             .out = {"bias"},
                                             .check = check_relative_bias,
                                             .bind = bind_relative_bias,
                                             .reverse = reverse_relative_bias,
                                             .again = {.cheap = all_results},
                                             .print = print_bias<ops::RelativeBias>};

constinit const OpRow ops::RelativeBiasBackward::row{
    .name = "relative_bias_backward",
    .in = {"dbias"},
    .out = {"dtable+"},
    .check = check_relative_bias_backward,
    .bind = bind_relative_bias_backward,
    .print = print_bias<ops::RelativeBiasBackward>};

}  // namespace ds
