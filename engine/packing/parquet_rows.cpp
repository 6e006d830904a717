// read_parquet_rows(): text as the other formats have it, UTF-8 and common roles.
#include "engine/packing/parquet_rows.h"

#include <fmt/format.h>

#include "engine/tokenizer/unicode.h"

namespace ds {

ParquetColumns parquet_columns(const DataConfig& config) {
  return {.names = config.json_fields, .has_messages = config.task == DataTask::chat};
}

void read_parquet_rows(const RawRange& range, const DataConfig& config, const TakeDocument& take) {
  const std::unique_ptr<ParquetFile> file = open_parquet(range.path, parquet_columns(config));
  std::int64_t group = 0, row = 0;
  for (; group < range.begin; ++group)
    row += file->groups().at(static_cast<std::size_t>(group)).rows;
  const std::function<std::string()> place = [&] {
    return fmt::format("{}, row {} (row group {})", range.path, row, group);
  };
  RawDocument document;
  for (; group < range.end; ++group) {
    file->seek(static_cast<int>(group));
    for (; file->next(document); ++row) {
      for (std::string& text : document.texts) text = unicode::valid(text);
      for (ChatMessage& message : document.messages) {
        message.role = common_role(unicode::valid(message.role));
        message.content = unicode::valid(message.content);
      }
      take(document, place);
    }
  }
}

}  // namespace ds
