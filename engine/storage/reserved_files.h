// Creates the nameless files of a TileFiles and reserves their space.
#pragma once

#include "engine/storage/block_queue.h"
#include "engine/storage/tile_files.h"

namespace ds {

/// Opens a new file without a name in a folder, for reading and writing, on any file system.
/// `flags`: 0 or O_DIRECT. Returns an empty descriptor with errno if that fails.
UniqueFd open_nameless(const std::string& folder, int flags);

struct ReservedFiles {
  OpenFiles open;
  std::string remark;  // for messages: "O_DIRECT", or which folder has no O_DIRECT and why
};

/// Creates and reserves the files. Errors: Error{config} that names the folder and a remedy.
ReservedFiles reserve_files(const TileFilesSpec& spec);

}  // namespace ds
