// Documents of Parquet files: which columns a task reads, and the rows of some row groups.
#pragma once

#include "engine/config/train_config.h"
#include "engine/packing/parquet_file.h"
#include "engine/packing/raw_chunk.h"
#include "engine/packing/raw_reader.h"

namespace ds {

/// Returns the columns that data.task and data.fields name.
ParquetColumns parquet_columns(const DataConfig& config);

/// Calls `take` for each row of the row groups [begin, end), with its place: "a.parquet, row 1017
/// (row group 1)". Errors: as read_documents() and ParquetFile.
void read_parquet_rows(const RawRange& range, const DataConfig& config, const TakeDocument& take);

}  // namespace ds
