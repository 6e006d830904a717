// whole_type() and size_of(): the table of types.
#include "engine/data/whole_numbers.h"

#include <algorithm>
#include <array>

namespace ds {
namespace {

struct TypeRow {
  std::string_view word;  // empty: not a type of fields
  WholeType type;
  std::int64_t size;
};
constexpr std::array<TypeRow, 7> kTypes{{{"U8", WholeType::u8, 1},
                                         {"", WholeType::i8, 1},
                                         {"U16", WholeType::u16, 2},
                                         {"", WholeType::i16, 2},
                                         {"U32", WholeType::u32, 4},
                                         {"I32", WholeType::i32, 4},
                                         {"I64", WholeType::i64, 8}}};

}  // namespace

std::optional<WholeType> whole_type(std::string_view word) {
  const auto* const found = std::ranges::find(kTypes, word, &TypeRow::word);
  if (word.empty() || found == kTypes.end()) return std::nullopt;
  return found->type;
}

std::int64_t size_of(WholeType type) { return kTypes[static_cast<std::size_t>(type)].size; }

}  // namespace ds
