// verify(): checks names and views, and that no byte is read before it is written.
#include <map>
#include <string_view>
#include <unordered_set>

#include "engine/program/ops/row.h"
#include "engine/program/passes.h"

namespace ds {
namespace {

void verify_values(const Program& program) {
  std::unordered_set<std::string_view> names(program.values.size());
  for (const Value& value : program.values) {
    DS_ASSERT(names.insert(value.name).second, "two values have the same name");
    if (value.base == kNoValue) continue;
    const Value& base = program.value(value.base);
    DS_ASSERT(base.base == kNoValue, "the base of a view must not be a view");
    DS_ASSERT(base.dtype == value.dtype && !value.persistent);
    DS_ASSERT(value.offset >= 0 && value.offset + value.shape.elements() <= base.shape.elements(),
              "a view must lie inside its base");
  }
}

/// The elements of each base value that were written so far, as disjoint ranges.
class Written {
 public:
  explicit Written(const Program& program) : program_(program), ranges_(program.values.size()) {
    for (std::size_t i = 0; i < program.values.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      if (program.lasts(id) || program.value(id).kind == ValueKind::input) mark(id);
    }
  }

  void mark(ValueId id) {
    const auto [base, first, last] = range_of(id);
    if (first == last) return;
    std::map<std::int64_t, std::int64_t>& ranges = ranges_[static_cast<std::size_t>(base)];
    std::int64_t from = first, to = last;
    auto at = ranges.upper_bound(from);
    if (at != ranges.begin() && std::prev(at)->second >= from) --at;
    while (at != ranges.end() && at->first <= to) {
      from = std::min(from, at->first);
      to = std::max(to, at->second);
      at = ranges.erase(at);
    }
    ranges[from] = to;
  }

  [[nodiscard]] bool covers(ValueId id) const {
    const auto [base, first, last] = range_of(id);
    if (first == last) return true;
    const std::map<std::int64_t, std::int64_t>& ranges = ranges_[static_cast<std::size_t>(base)];
    const auto after = ranges.upper_bound(first);
    return after != ranges.begin() && std::prev(after)->second >= last;
  }

 private:
  struct Range {
    ValueId base;
    std::int64_t first, last;
  };
  [[nodiscard]] Range range_of(ValueId id) const {
    const Value& value = program_.value(id);
    const ValueId base = value.base == kNoValue ? id : value.base;
    return {base, value.offset, value.offset + value.shape.elements()};
  }

  const Program& program_;
  std::vector<std::map<std::int64_t, std::int64_t>> ranges_;  // by value: first -> last
};

void verify_operands(const Program& program, const Op& op) {
  const OpRow& row = row_of(op);
  DS_ASSERT(row.in.fit(op.in) && row.out.fit(op.out), "an op lacks operands or has too many");
  for (std::size_t i = 0; i < op.out.size(); ++i)
    DS_ASSERT(!op.adds_to(i) || row.out.may_add(i), "an op must not add to this result");
  row.check(Operands(program, op));
}

void verify_order(const Program& program) {
  Written written(program);
  for (const Op& op : program.ops) {
    for (const ValueId id : op.in)
      DS_ASSERT(id == kNoValue || written.covers(id), "a value is read before it is written");
    for (std::size_t i = 0; i < op.out.size(); ++i) {
      const ValueId id = op.out[i];
      if (id == kNoValue) continue;
      DS_ASSERT(!op.adds_to(i) || written.covers(id), "a value is added to before it is written");
      written.mark(id);
    }
  }
}

}  // namespace

void verify(const Program& program) {
  verify_values(program);
  for (const Op& op : program.ops) verify_operands(program, op);
  verify_order(program);
}

}  // namespace ds
