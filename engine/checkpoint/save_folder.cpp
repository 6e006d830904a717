// Creates the folder, finds complete checkpoints, begins and publishes saves.
#include "engine/checkpoint/save_folder.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/checkpoint/folder_files.h"
#include "engine/checkpoint/manifest_text.h"
#include "engine/checkpoint/save_names.h"

namespace ds {
namespace {

namespace fs = std::filesystem;

/// Returns 0, or the errno that says why the path is not a folder.
int no_folder(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return errno;
  return S_ISDIR(facts.st_mode) ? 0 : ENOTDIR;
}

/// Syncs the names if this user may read the folder; otherwise they reach the disk a little later.
void try_sync_names(const std::string& folder) {
  try {
    sync_names(folder);
  } catch (const Error&) {
  }
}

/// Creates a folder and its parents. Returns 0, or the errno if it does not exist afterwards.
int make_folder(const fs::path& path) {
  const int why_not = no_folder(path);
  if (why_not == 0 || is_there(path)) return why_not;
  const fs::path parent = path.parent_path();
  if (parent != path) {
    if (const int error = make_folder(parent); error != 0) return error;
  }
  if (::mkdir(path.c_str(), 0777) != 0) {
    const int error = errno;
    return no_folder(path) == 0 ? 0 : error;  // another rank created it
  }
  try_sync_names(parent);
  return 0;
}

/// Returns the absolute path without '/' at its end, so that a later change of directory has no
/// effect.
std::string absolute_folder(const std::string& dir) {
  std::error_code failed;
  fs::path path = fs::absolute(dir, failed);
  if (failed) throw folder_error(dir, failed.value());
  if (!path.has_filename()) path = path.parent_path();
  return path;
}

}  // namespace

SaveFolder::SaveFolder(std::string dir, std::uint64_t epoch)
    : dir_(absolute_folder(dir)), epoch_(epoch) {
  if (const int error = make_folder(dir_); error != 0) throw folder_error(dir_, error);
}

std::vector<std::string> SaveFolder::complete() const {
  std::vector<std::string> names = names_in(dir_);
  std::erase_if(names, [](const std::string& name) { return !step_of(name); });
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return *step_of(a) > *step_of(b); });
  return names;
}

std::string SaveFolder::unfinished_path(std::int64_t step) const {
  return fmt::format("{}/{}", dir_, unfinished_name(step, epoch_));
}

std::string SaveFolder::begin(std::int64_t step) const {
  std::string path = unfinished_path(step);
  if (::mkdir(path.c_str(), 0777) == 0) return path;
  const int error = errno;
  if (no_folder(path) == 0) return path;
  // DIR itself is never created again, because that would hide that its disk is gone.
  throw_errno(fmt::format("checkpoint folder {} cannot be created", path), error,
              error == ENOENT ? "checkpoint.dir is gone: is its disk still mounted?" : "");
}

void SaveFolder::publish(std::int64_t step, const ChunkPart& part) const {
  const std::string folder = unfinished_path(step);
  const std::string chunk = fmt::format("{}/{}", folder, part.chunk.name);
  struct stat facts {};
  if (::stat(chunk.c_str(), &facts) != 0) throw_errno(chunk, errno);
  if (facts.st_size != part.chunk.bytes) {
    throw Error(ErrorKind::system, fmt::format("{} has {} bytes, but {} were written", chunk,
                                               facts.st_size, part.chunk.bytes));
  }
  write_whole(fmt::format("{}/{}", folder, part_name(part.rank)), part_text(part));
}

void SaveFolder::abandon(std::int64_t step) const noexcept {
  try {
    remove_all_of(unfinished_path(step));
  } catch (...) {  // out of memory: own() removes the folder later
  }
}

std::int64_t SaveFolder::free_bytes() const {
  struct statvfs facts {};
  if (::statvfs(dir_.c_str(), &facts) != 0) throw folder_error(dir_, errno);
  return static_cast<std::int64_t>(facts.f_bavail) * static_cast<std::int64_t>(facts.f_frsize);
}

}  // namespace ds
