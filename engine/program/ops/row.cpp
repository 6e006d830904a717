// row_of(), and the check of operands against their roles.
#include "engine/program/ops/row.h"

namespace ds {

bool Roles::fit(const std::vector<ValueId>& ids) const {
  if (any_number_) return true;
  if (ids.size() < least_ || ids.size() > count_) return false;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] == kNoValue && !optional_[i]) return false;
  return true;
}

const OpRow& row_of(const Op& op) {
  return std::visit([](const auto& attrs) -> const OpRow& { return attrs.row; }, op.attrs);
}

}  // namespace ds
