// Conversations of Arrow's arrays: lists of structs with role and content, or from and value.
#pragma once

#include <arrow/array.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace ds {

/// The fields of a message.
struct MessageFields {
  std::string role, content;
};

/// Returns the fields of a column's messages; nothing if the type is not such lists.
std::optional<MessageFields> message_fields(const arrow::DataType& type);

/// The lists of one array.
class MessageLists {
 public:
  /// `array`: of a type for which message_fields() returned `fields`; may lack other fields.
  MessageLists(std::shared_ptr<arrow::Array> array, const MessageFields& fields);

  [[nodiscard]] bool is_null(std::int64_t row) const { return lists_->IsNull(row); }
  /// Returns the first message of a row, and the first one behind its last, as numbers for
  /// role() and content(). Errors: std::out_of_range.
  struct Range {
    std::int64_t begin = 0, end = 0;
  };
  [[nodiscard]] Range messages(std::int64_t row) const;
  /// Returns nothing for null.
  [[nodiscard]] std::optional<std::string_view> role(std::int64_t message) const;
  [[nodiscard]] std::optional<std::string_view> content(std::int64_t message) const;

 private:
  std::shared_ptr<arrow::Array> lists_, structs_, roles_, contents_;
};

}  // namespace ds
