// Ops of programs that decode: the cache of keys and values, and the logits of the last tokens.
#include "engine/program/ops/heads.h"
#include "engine/program/ops/row.h"

namespace ds {
namespace {

void check_cache_keys(const Operands& o) {
  const Value &qkv = o.in(0), &cache = o.in(2), &queries = o.out(0);
  const HeadsShape s(qkv, as<ops::CacheKeys>(o.op()).kv_heads);
  DS_ASSERT(o.op().in[2] == o.op().out[1], "the cache is changed in place");
  DS_ASSERT(is(o.in(1), DType::i32, {s.batch * s.time}));
  DS_ASSERT(is(queries, qkv.dtype, {1, s.batch, s.heads, s.time, s.depth}));
  DS_ASSERT(is(cache, qkv.dtype, {1, s.batch, 2 * s.groups, cache.shape[3], s.depth}));
}

BoundOp bind_cache_keys(const OpSite& at) {
  return call(at, CacheKeys{.qkv = at.in(0),
                            .slots = at.in(1),
                            .queries = at.out(0),
                            .cache = at.out(1),
                            .kv_heads = as<ops::CacheKeys>(at.op).kv_heads});
}

std::string print_cache_keys(const Op& op) {
  const std::int64_t kv_heads = as<ops::CacheKeys>(op).kv_heads;
  return kv_heads == 0 ? std::string() : fmt::format(" kv={}", kv_heads);
}

void check_logits(const Operands& o) {
  const Value &in = o.in(0), &weight = o.in(1);
  DS_ASSERT(columns(in) == columns(weight) && in.dtype == weight.dtype);
  DS_ASSERT(!o.has_in(2) || is(o.in(2), weight.dtype, {rows(weight)}));
  DS_ASSERT(is(o.out(0), DType::f32, {rows(in), rows(weight)}));
}

BoundOp bind_logits(const OpSite& at) {
  return call(at, Logits{.in = at.in(0),
                         .weight = at.in(1),
                         .bias = at.in(2),
                         .out = at.out(0),
                         .scale = as<ops::Logits>(at.op).scale});
}

std::string print_logits(const Op& op) {
  const float scale = as<ops::Logits>(op).scale;
  return scale == 1 ? std::string() : fmt::format(" scale={}", scale);
}

double logits_flops(const Operands& o) {
  return 2.0 * static_cast<double>(rows(o.in(0))) * static_cast<double>(o.in(1).shape.elements());
}

}  // namespace

constinit const OpRow ops::CacheKeys::row{.name = "cache_keys",
                                          .in = {"qkv", "slots", "cache"},
                                          .out = {"queries", "cache"},
                                          .check = check_cache_keys,
                                          .bind = bind_cache_keys,
                                          .print = print_cache_keys};

constinit const OpRow ops::Logits::row{.name = "logits",
                                       .in = {"in", "weight", "bias??"},
                                       .out = {"logits"},
                                       .check = check_logits,
                                       .bind = bind_logits,
                                       .flops = logits_flops,
                                       .uses_scratch = true,
                                       .print = print_logits};

}  // namespace ds
