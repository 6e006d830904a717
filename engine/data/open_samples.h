// open_samples(): the data of data.format = "samples".
#pragma once

#include "engine/data/files.h"
#include "engine/data/open_data.h"

namespace ds {

/// Opens the files; data.train is null if they have no source. Errors: Error{config}: as
/// SampleFile; no sample in a file's part, or files with other fields.
DataSet open_samples(const DataConfig& config, const DataFiles& files);

}  // namespace ds
