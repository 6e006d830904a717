// Resolves paths to checkpoints. Only names decide which checkpoints of a folder are complete.
#include "engine/checkpoint/tools/choose.h"

#include <algorithm>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/checkpoint/find_checkpoint.h"
#include "engine/checkpoint/near_checkpoints.h"
#include "engine/checkpoint/save_names.h"

namespace ds {
namespace {

namespace fs = std::filesystem;

Error refuse(const std::string& path, const std::string& what, std::string hint) {
  return {ErrorKind::config, fmt::format("{}: {}", path, what), std::move(hint)};
}

}  // namespace

std::vector<std::string> checkpoints_at(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none)
    throw refuse(path, error.message(), "check the permissions of the folders above it");
  if (fs::exists(fs::path(path) / kManifestName, error)) return {path};
  if (error && status.type() == fs::file_type::directory)
    throw refuse(path, error.message(), "check its permissions");
  if (status.type() != fs::file_type::directory) throw no_checkpoint_error("the checkpoint", path);
  std::vector<std::string> folders = checkpoints_in(path);
  if (folders.empty()) throw no_checkpoint_error("the checkpoint", path);
  return folders;
}

std::string checkpoint_at(const std::string& path) { return checkpoints_at(path).front(); }

std::vector<std::string> last_checkpoints(const std::string& folder, std::size_t count) {
  std::vector<std::string> folders = checkpoints_at(folder);
  if (folders.size() < count)
    throw refuse(folder,
                 fmt::format("has {}, fewer than {}",
                             counted(std::ssize(folders), "complete checkpoint"), count),
                 "keep more with checkpoint.keep or checkpoint.major_every");
  folders.resize(count);
  std::ranges::reverse(folders);
  return folders;
}

}  // namespace ds
