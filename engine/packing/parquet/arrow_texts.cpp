// text_at(): by the type of the array.
#include "engine/packing/parquet/arrow_texts.h"

#include <arrow/extension_type.h>
#include <arrow/type.h>

#include <stdexcept>

namespace ds {
namespace {

using arrow::Type;

/// Returns the type of the values that a dictionary or an extension, such as JSON's, stores.
const arrow::DataType& stored_type(const arrow::DataType& type) {
  if (type.id() == Type::DICTIONARY)
    return stored_type(*static_cast<const arrow::DictionaryType&>(type).value_type());
  if (type.id() == Type::EXTENSION)
    return stored_type(*static_cast<const arrow::ExtensionType&>(type).storage_type());
  return type;
}

std::optional<std::string_view> text_of_dictionary(const arrow::DictionaryArray& array,
                                                   std::int64_t row) {
  const std::int64_t index = array.GetValueIndex(row);
  if (index < 0 || index >= array.dictionary()->length())
    throw std::out_of_range("an index is behind the end of its dictionary");
  return text_at(*array.dictionary(), index);
}

}  // namespace

bool is_bytes(const arrow::DataType& type) {
  const Type::type id = stored_type(type).id();
  return id == Type::BINARY || id == Type::LARGE_BINARY || id == Type::BINARY_VIEW;
}

bool is_text(const arrow::DataType& type) {
  const Type::type id = stored_type(type).id();
  return id == Type::STRING || id == Type::LARGE_STRING || id == Type::STRING_VIEW ||
         is_bytes(type);
}

std::optional<std::string_view> text_at(const arrow::Array& array, std::int64_t row) {
  if (array.IsNull(row)) return std::nullopt;
  switch (array.type_id()) {
    case Type::STRING:
    case Type::BINARY:
      return static_cast<const arrow::BinaryArray&>(array).GetView(row);
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      return static_cast<const arrow::LargeBinaryArray&>(array).GetView(row);
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
      return static_cast<const arrow::BinaryViewArray&>(array).GetView(row);
    case Type::DICTIONARY:
      return text_of_dictionary(static_cast<const arrow::DictionaryArray&>(array), row);
    case Type::EXTENSION:
      return text_at(*static_cast<const arrow::ExtensionArray&>(array).storage(), row);
    default:
      throw std::invalid_argument("an array of " + array.type()->ToString() + " has no texts");
  }
}

}  // namespace ds
