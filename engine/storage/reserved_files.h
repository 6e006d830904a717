// Creates the nameless files of a TileFiles and reserves their space.
#pragma once

#include "engine/storage/block_queue.h"
#include "engine/storage/tile_files.h"

namespace ds {

struct ReservedFiles {
  OpenFiles open;
  std::string remark;  // for messages: "O_DIRECT", or which folder has no O_DIRECT and why
};

/// Creates and reserves the files. Errors: Error{config} that names the folder and a remedy.
ReservedFiles reserve_files(const TileFilesSpec& spec);

}  // namespace ds
