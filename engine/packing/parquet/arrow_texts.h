// Texts of Arrow's arrays: strings and bytes in every layout that a column of Parquet can have.
#pragma once

#include <arrow/array.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace ds {

/// Returns whether the values are strings or bytes, also behind a dictionary.
bool is_text(const arrow::DataType& type);

/// Returns whether the values are bytes that need not be a text.
bool is_bytes(const arrow::DataType& type);

/// Returns the text of a row of an array for whose type is_text() holds; nothing for null. Errors:
/// std::out_of_range: an index behind the end of its dictionary.
std::optional<std::string_view> text_at(const arrow::Array& array, std::int64_t row);

}  // namespace ds
