// Makes the nameless files of a TileFiles and takes their space.
#pragma once

#include "engine/storage/block_queue.h"
#include "engine/storage/tile_files.h"

namespace ds {

struct ReservedFiles {
  OpenFiles open;
  std::string remark;  // for people: "O_DIRECT", or which folder has none and why
};

/// Errors: Error{config} naming the folder and what to do.
ReservedFiles reserve_files(const TileFilesSpec& spec);

}  // namespace ds
