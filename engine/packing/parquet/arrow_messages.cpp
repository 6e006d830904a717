// MessageLists: lists with offsets of 32 and 64 bits, and lists of a fixed length.
#include "engine/packing/parquet/arrow_messages.h"

#include <arrow/type.h>

#include <stdexcept>

#include "engine/packing/parquet/arrow_texts.h"

namespace ds {
namespace {

using arrow::Type;

bool is_list(const arrow::DataType& type) {
  return type.id() == Type::LIST || type.id() == Type::LARGE_LIST ||
         type.id() == Type::FIXED_SIZE_LIST;
}

template <typename List>
MessageLists::Range range_of(const arrow::Array& lists, std::int64_t row) {
  const auto& typed = static_cast<const List&>(lists);
  return {typed.value_offset(row), typed.value_offset(row) + typed.value_length(row)};
}

std::shared_ptr<arrow::Array> values_of(const arrow::Array& lists) {
  if (lists.type_id() == Type::LIST) return static_cast<const arrow::ListArray&>(lists).values();
  if (lists.type_id() == Type::LARGE_LIST)
    return static_cast<const arrow::LargeListArray&>(lists).values();
  return static_cast<const arrow::FixedSizeListArray&>(lists).values();
}

}  // namespace

std::optional<MessageFields> message_fields(const arrow::DataType& type) {
  if (!is_list(type)) return std::nullopt;
  const auto message = std::dynamic_pointer_cast<arrow::StructType>(
      static_cast<const arrow::BaseListType&>(type).value_type());
  if (message == nullptr) return std::nullopt;
  for (const MessageFields& fields :
       {MessageFields{"role", "content"}, MessageFields{"from", "value"}}) {
    const auto role = message->GetFieldByName(fields.role);
    const auto content = message->GetFieldByName(fields.content);
    if (role && content && is_text(*role->type()) && is_text(*content->type())) return fields;
  }
  return std::nullopt;
}

MessageLists::MessageLists(std::shared_ptr<arrow::Array> array, const MessageFields& fields)
    : lists_(std::move(array)), structs_(values_of(*lists_)) {
  const auto& messages = static_cast<const arrow::StructArray&>(*structs_);
  roles_ = messages.GetFieldByName(fields.role);
  contents_ = messages.GetFieldByName(fields.content);
  if (!roles_ || !contents_) throw std::out_of_range("messages lack a field");
}

MessageLists::Range MessageLists::messages(std::int64_t row) const {
  const Range range = lists_->type_id() == Type::LIST ? range_of<arrow::ListArray>(*lists_, row)
                      : lists_->type_id() == Type::LARGE_LIST
                          ? range_of<arrow::LargeListArray>(*lists_, row)
                          : range_of<arrow::FixedSizeListArray>(*lists_, row);
  if (range.begin < 0 || range.end < range.begin || range.end > structs_->length())
    throw std::out_of_range("a list is longer than its messages");
  return range;
}

std::optional<std::string_view> MessageLists::role(std::int64_t message) const {
  return structs_->IsNull(message) ? std::nullopt : text_at(*roles_, message);
}

std::optional<std::string_view> MessageLists::content(std::int64_t message) const {
  return structs_->IsNull(message) ? std::nullopt : text_at(*contents_, message);
}

}  // namespace ds
