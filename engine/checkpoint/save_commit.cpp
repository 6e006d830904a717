// Commits a save: joins all parts, writes the manifest last, and renames the folder.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/error.h"
#include "engine/checkpoint/folder_files.h"
#include "engine/checkpoint/latest_name.h"
#include "engine/checkpoint/manifest_text.h"
#include "engine/checkpoint/save_folder.h"
#include "engine/checkpoint/save_names.h"

namespace ds {
namespace {

constexpr const char* kSameFolderHint = "is checkpoint.dir the same folder on all nodes?";

/// Returns whether the path exists. A network file system may cache that a name is missing; reading
/// the folder refreshes the cache.
bool is_there_by_now(const std::string& folder, const std::string& path) {
  return is_there(path) || (static_cast<void>(names_in(folder)), is_there(path));
}

void check_chunk(const std::string& folder, const ChunkPart& part) {
  const std::string path = fmt::format("{}/{}", folder, part.chunk.name);
  struct stat facts {};
  const bool seen = is_there_by_now(folder, path) && ::stat(path.c_str(), &facts) == 0;
  if (seen && facts.st_size == part.chunk.bytes) return;
  throw Error(ErrorKind::system,
              fmt::format("rank {}'s chunk {} {}", part.rank, path,
                          seen ? fmt::format("has {} bytes here, but {} were written",
                                             facts.st_size, part.chunk.bytes)
                               : "is missing"),
              kSameFolderHint);
}

ChunkPart read_part(const std::string& folder, int rank) {
  const std::string path = fmt::format("{}/{}", folder, part_name(rank));
  if (!is_there_by_now(folder, path)) {
    throw Error(ErrorKind::system, fmt::format("rank {}'s part is missing in {}", rank, folder),
                kSameFolderHint);
  }
  try {
    ChunkPart part = parse_part(read_whole(path));
    if (part.rank != rank) {
      throw Error(ErrorKind::system, fmt::format("it belongs to rank {}", part.rank));
    }
    check_chunk(folder, part);
    return part;
  } catch (const Error& error) {
    throw Error(ErrorKind::system, fmt::format("{}: {}", path, error.what()), error.hint());
  }
}

std::vector<ChunkPart> read_parts(const std::string& folder, int world_size) {
  std::vector<ChunkPart> parts;
  parts.reserve(static_cast<std::size_t>(world_size));
  for (int rank = 0; rank < world_size; ++rank) parts.push_back(read_part(folder, rank));
  return parts;
}

/// Writes the manifest and syncs the folder.
void finish_folder(const std::string& folder, const Manifest& manifest) {
  write_whole(fmt::format("{}/{}", folder, kManifestName), manifest_text(manifest));
  for (int rank = 0; rank < manifest.world_size; ++rank) {
    ::unlink(
        fmt::format("{}/{}", folder, part_name(rank)).c_str());  // a part that stays does no harm
  }
  sync_names(folder);
}

}  // namespace

Manifest SaveFolder::commit(const Manifest& head) const {
  const std::int64_t step = head.state.step;
  const std::string folder = unfinished_path(step);
  const std::string final_path = fmt::format("{}/{}", dir_, step_name(step));
  const std::string replaced = fmt::format("{}/{}", dir_, replaced_name(step, epoch_));
  Manifest manifest = join_parts(head, read_parts(folder, head.world_size));
  finish_folder(folder, manifest);

  const bool replaces = is_there(final_path);
  // own() and find_checkpoint handle this name if the process dies here.
  if (replaces) rename_in_place(final_path, replaced);
  try {
    if (replaces) sync_names(dir_);
    rename_in_place(folder, final_path);
  } catch (const Error&) {
    if (replaces) ::rename(replaced.c_str(), final_path.c_str());
    throw;
  }
  sync_names(dir_);
  point_latest(dir_, complete().front());
  if (replaces) remove_all_of(replaced);
  return manifest;
}

}  // namespace ds
