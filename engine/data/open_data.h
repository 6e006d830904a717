// open_data(): the data of a job, made of the files of [data].
#pragma once

#include <memory>

#include "engine/data/data_part.h"
#include "engine/packing/document_encoder.h"
#include "engine/packing/token_cache.h"

namespace ds {

struct DataSet {
  std::unique_ptr<DataPart> train, validation;  // validation: of size 0 where nothing is held out
  DataFields fields{};
  std::shared_ptr<const Tokenizer> tokenizer{};  // null where there is none
  std::string tokenizer_hash{};
};

/// Finds, maps and splits the files of [data]; texts are tokenized first, unless their tokens are
/// in the cache. Order: files by path, in byte order; what is held out is the tail of each file.
/// `seed`: for tasks that draw.
/// Errors: Error{config}: a pattern matches no file; a file is unreadable, empty, in both parts, or
/// not of data.format; a part is too short.
DataSet open_data(const DataConfig& config, std::uint64_t seed = 0, const PackShare& share = {});

/// Returns what open_data() would say of the fields; checks what costs little: texts are not
/// tokenized. Errors: as open_data().
DataFields check_data(const DataConfig& config);

}  // namespace ds
