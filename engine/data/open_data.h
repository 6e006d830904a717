// open_data(): the data of a job, made of the files of [data].
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/data/data_part.h"
#include "engine/packing/document_encoder.h"
#include "engine/packing/token_cache.h"

namespace ds {

/// Data whose loss is computed without training on them; the name is empty where there is one set.
struct HeldOut {
  std::string_view name;
  const DataPart* part;
};

struct NamedPart {
  std::string name;
  std::unique_ptr<DataPart> part;
};

struct DataSet {
  // validation: of size 0 where nothing is held out, or in sets with names
  std::unique_ptr<DataPart> train, validation;
  std::vector<NamedPart> validation_sets{};  // by name
  DataFields fields{};
  std::shared_ptr<const Tokenizer> tokenizer{};  // null where there is none
  std::string tokenizer_hash{};

  /// Returns what is held out: the set without a name if it has samples, or those with names.
  [[nodiscard]] std::vector<HeldOut> held_out() const;
};

/// Finds, maps and splits the files of [data]; texts are tokenized first, unless their tokens are
/// in the cache. Order: files by path, in byte order; what is held out is the tail of each file.
/// `seed`: for tasks that draw.
/// Errors: Error{config}: a pattern matches no file; a file is unreadable, empty, in both parts, or
/// not of data.format; a part is too short.
DataSet open_data(const DataConfig& config, std::uint64_t seed = 0, const PackShare& share = {});

/// Opens data.validation alone where it names files: then DataSet::train is null, and a set may be
/// shorter than a row. Errors: as open_data().
DataSet open_validation(const DataConfig& config, std::uint64_t seed, const PackShare& share);

/// Returns what open_data() would say of the fields; checks what costs little: texts are not
/// tokenized. Errors: as open_data().
DataFields check_data(const DataConfig& config);

}  // namespace ds
