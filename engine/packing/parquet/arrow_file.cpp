// ArrowFile: decodes some MiB of rows at a time, on the calling thread.
#include "engine/packing/parquet/arrow_file.h"

#include <arrow/io/file.h>
#include <arrow/memory_pool.h>
#include <arrow/util/utf8.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <algorithm>
#include <stdexcept>

#include "engine/base/error.h"
#include "engine/base/nearest_word.h"
#include "engine/base/text_error.h"
#include "engine/packing/parquet/arrow_texts.h"

namespace ds {
namespace {

constexpr std::int64_t kBufferBytes = std::int64_t{1} << 20U;  // of each column's file bytes
constexpr std::int64_t kBatchBytes = std::int64_t{4} << 20U;   // of decoded text
constexpr std::int64_t kMostRows = 16384;                      // of a batch
constexpr std::int64_t kMostOfGroup = std::int64_t{1}
                                      << 48U;  // rows and bytes; damaged files say more

std::string quoted(const std::string& name) { return '"' + printable_text(name, 100) + '"'; }

/// Runs `work`, which calls Arrow, and converts what it throws to an Error about `place()`.
template <typename Place, typename Work>
auto guarded(const Place& place, const Work& work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(
        ErrorKind::config,
        fmt::format("{}: it cannot be read: {}", place(), printable_text(error.what(), 300)),
        "copy it again if it is damaged or cut off");
  }
}

/// Adds the leaves of a column, of messages those of the two fields.
void add_leaves(const parquet::arrow::SchemaField& field, const MessageFields* message,
                std::vector<int>& leaves) {
  if (field.is_leaf() && std::ranges::find(leaves, field.column_index) == leaves.end())
    leaves.push_back(field.column_index);
  for (const parquet::arrow::SchemaField& child : field.children) {
    const std::string& name = child.field->name();
    const bool is_message = field.field->type()->id() == arrow::Type::STRUCT;
    if (message == nullptr || !is_message || name == message->role || name == message->content)
      add_leaves(child, message, leaves);
  }
}

}  // namespace

ArrowFile::ArrowFile(const std::string& path, const ParquetColumns& columns)
    : path_(path), columns_(columns) {
  arrow::util::InitializeUTF8();
  guarded([&] { return "data file " + path_; },
          [&] {
            open();
            find_columns();
            measure_groups();
          });
}

void ArrowFile::open() {
  parquet::ReaderProperties properties(arrow::system_memory_pool());
  properties.enable_buffered_stream();  // else a column of a row group is read at once
  properties.set_buffer_size(kBufferBytes);
  properties.set_page_checksum_verification(true);
  parquet::ArrowReaderProperties arrow_properties(false);  // no threads: ranks have their own
  arrow_properties.set_pre_buffer(false);
  parquet::arrow::FileReaderBuilder builder;
  PARQUET_ASSIGN_OR_THROW(auto file,
                          arrow::io::ReadableFile::Open(path_, arrow::system_memory_pool()));
  PARQUET_THROW_NOT_OK(builder.Open(std::move(file), properties));
  builder.memory_pool(arrow::system_memory_pool())->properties(arrow_properties);
  PARQUET_ASSIGN_OR_THROW(reader_, builder.Build());
}

void ArrowFile::find_columns() {
  const auto& fields = reader_->manifest().schema_fields;
  std::vector<std::string_view> names;
  for (const auto& field : fields) names.push_back(field.field->name());
  for (std::size_t i = 0; i < columns_.names.size(); ++i) {
    const std::string& name = columns_.names[i];
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      const std::string near = nearest_word(name, names);
      const std::string all = printable_text(fmt::format("{}", fmt::join(names, ", ")), 200);
      throw Error(ErrorKind::config, fmt::format("{}: there is no column {}", path_, quoted(name)),
                  near.empty() ? fmt::format("the file has {}", all)
                               : fmt::format("did you mean {}? data.fields names what is read",
                                             quoted(near)));
    }
    const auto& field = fields[static_cast<std::size_t>(found - names.begin())];
    const arrow::DataType& type = *field.field->type();
    if (columns_.has_messages) message_ = message_fields(type);
    if (columns_.has_messages ? !message_ : !is_text(type))
      throw Error(
          ErrorKind::config,
          fmt::format("{}: the column {} is {}, not {}", path_, quoted(name),
                      printable_text(type.ToString(), 200),
                      columns_.has_messages ? "a list of messages with role and content" : "text"),
          "name another one with data.fields");
    are_bytes_.push_back(is_bytes(type));
    add_leaves(field, message_ ? &*message_ : nullptr, leaves_);
  }
}

void ArrowFile::measure_groups() {
  const auto metadata = reader_->parquet_reader()->metadata();
  for (int i = 0; i < metadata->num_row_groups(); ++i) {
    const auto group = metadata->RowGroup(i);
    Group facts{.rows = group->num_rows(), .bytes = 0};
    for (const int leaf : leaves_)
      facts.bytes += std::clamp<std::int64_t>(group->ColumnChunk(leaf)->total_uncompressed_size(),
                                              0, kMostOfGroup);
    if (facts.rows < 0 || facts.rows > kMostOfGroup)
      throw std::out_of_range(fmt::format("row group {} promises {} rows", i, facts.rows));
    groups_.push_back(facts);
  }
}

void ArrowFile::seek(int group) {
  group_ = group;
  first_row_ = row_ = decoded_ = in_batch_ = 0;
  for (int i = 0; i < group; ++i) first_row_ += groups_[static_cast<std::size_t>(i)].rows;
  const Group& facts = groups_.at(static_cast<std::size_t>(group));
  guarded(
      [&] { return fmt::format("{}, row group {}", path_, group_); },
      [&] {
        const std::int64_t bytes_of_row = facts.bytes / std::max<std::int64_t>(1, facts.rows) + 1;
        reader_->set_batch_size(std::clamp<std::int64_t>(kBatchBytes / bytes_of_row, 1, kMostRows));
        PARQUET_ASSIGN_OR_THROW(batches_, reader_->GetRecordBatchReader({group_}, leaves_));
      });
}

/// Decodes more rows; returns false at the end of the row group.
bool ArrowFile::next_batch() {
  std::shared_ptr<arrow::RecordBatch> batch;
  PARQUET_THROW_NOT_OK(batches_->ReadNext(&batch));
  const std::int64_t rows = groups_[static_cast<std::size_t>(group_)].rows;
  if (batch == nullptr) {
    if (row_ != rows) throw std::out_of_range(fmt::format("it has {} of its {} rows", row_, rows));
    return false;
  }
  arrays_.clear();
  for (const std::string& name : columns_.names) {
    arrays_.push_back(batch->GetColumnByName(name));
    if (arrays_.back() == nullptr) throw std::out_of_range("a column is missing");
  }
  if (message_) lists_.emplace(arrays_.front(), *message_);
  decoded_ = batch->num_rows();
  if (decoded_ == 0) throw std::out_of_range("no rows where some should be");
  in_batch_ = 0;
  return true;
}

bool ArrowFile::next(RawDocument& row) {
  return guarded([&] { return place(); },
                 [&] {
                   while (in_batch_ == decoded_)
                     if (!next_batch()) return false;
                   if (message_) {
                     take_messages(row);
                   } else {
                     take_texts(row);
                   }
                   ++in_batch_;
                   ++row_;
                   return true;
                 });
}

std::string ArrowFile::place() const {
  return fmt::format("{}, row {} (row group {})", path_, first_row_ + row_, group_);
}

void ArrowFile::refuse(std::size_t column, const std::string& why, std::string hint) const {
  throw Error(ErrorKind::config,
              fmt::format("{}: the column {} {}", place(), quoted(columns_.names[column]), why),
              std::move(hint));
}

std::string ArrowFile::text_of(std::string_view text, std::size_t column) const {
  if (are_bytes_[column] && !arrow::util::ValidateUTF8(text))
    refuse(column, "has bytes that are not UTF-8",
           "name another one with data.fields, or write it as strings");
  return std::string(text);
}

void ArrowFile::take_texts(RawDocument& row) const {
  row.texts.clear();
  row.messages.clear();
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const std::optional<std::string_view> text = text_at(*arrays_[i], in_batch_);
    if (!text)
      refuse(i, "is null, not a text", "name another one with data.fields, or leave such rows out");
    row.texts.push_back(text_of(*text, i));
  }
}

void ArrowFile::take_messages(RawDocument& row) const {
  row.texts.clear();
  row.messages.clear();
  if (lists_->is_null(in_batch_))
    refuse(0, "is null, not a list of messages", "leave such rows out");
  const MessageLists::Range messages = lists_->messages(in_batch_);
  if (messages.begin == messages.end)
    refuse(0, "has no messages", "it is a list of messages with role and content");
  for (std::int64_t i = messages.begin; i < messages.end; ++i) {
    const std::optional<std::string_view> role = lists_->role(i), content = lists_->content(i);
    if (!role || role->empty())
      refuse(0, fmt::format("has no role in message {}", i - messages.begin + 1),
             "a message has the fields role and content, or from and value");
    // As in lines of JSON, a message without a text, such as a tool's call, is an empty one.
    row.messages.push_back({std::string(*role), std::string(content.value_or(""))});
  }
}

}  // namespace ds
