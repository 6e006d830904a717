// Searches names only, because it runs after a typing error and not in training.
#include "engine/checkpoint/near_checkpoints.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "engine/base/text_error.h"
#include "engine/checkpoint/find_checkpoint.h"
#include "engine/checkpoint/folder_files.h"
#include "engine/checkpoint/save_names.h"

namespace ds {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShown = 3;     // names in a message
constexpr std::size_t kLooked = 200;  // limit of names examined per folder
constexpr int kLevelsUp = 3;

bool is_folder(const fs::path& path) {
  std::error_code failed;
  return fs::is_directory(path, failed);
}

std::vector<std::string> names_or_none(const std::string& folder) {
  try {
    std::vector<std::string> names = names_in(folder);
    if (names.size() > kLooked) names.resize(kLooked);
    return names;
  } catch (const Error&) {
    return {};
  }
}

std::vector<std::string> checkpoints_or_none(const fs::path& folder) {
  try {
    if (is_there(folder / kManifestName)) return {folder};
    std::vector<std::string> found = checkpoints_in(folder);
    std::erase_if(found, [](const fs::path& one) { return !is_there(one / kManifestName); });
    return found;
  } catch (const Error&) {
    return {};
  }
}

void append(std::vector<std::string>& to, std::vector<std::string> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// Returns checkpoints in folders below, down to `levels` levels.
std::vector<std::string> below(const fs::path& folder, int levels) {
  std::vector<std::string> found;
  for (const std::string& name : names_or_none(folder)) {
    const fs::path child = folder / name;
    if (parse_save_name(name) || !is_folder(child)) continue;
    append(found, checkpoints_or_none(child));
    if (levels > 1) append(found, below(child, levels - 1));
    if (found.size() > kShown) break;
  }
  return found;
}

std::vector<std::string> near(const fs::path& path) {
  std::vector<std::string> found = is_folder(path) ? below(path, 2) : std::vector<std::string>{};
  fs::path up = path;
  for (int level = 0; level < kLevelsUp && found.empty() && up.has_parent_path(); ++level) {
    up = up.parent_path();
    if (is_folder(up)) found = checkpoints_or_none(up);
  }
  return found;
}

std::string shown(std::vector<std::string> names) {
  const std::size_t count = names.size();
  names.resize(std::min(count, kShown));
  for (std::string& name : names) name = printable_text(name, 200);
  return fmt::format("{}{}", fmt::join(names, ", "),
                     count > kShown ? fmt::format(" and {} more", count - kShown) : "");
}

std::string what_is_there(const fs::path& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (status.type() == fs::file_type::not_found) return "does not exist";
  if (failed) return fmt::format("cannot be accessed: {}", failed.message());
  if (!fs::is_directory(status)) return "is a file other than manifest.json";
  const auto name = parse_save_name(path.filename().string());
  if (name && name->kind == SaveKind::unfinished) return "is a save that was never completed";
  if (name && name->kind == SaveKind::removed) return "is a half-removed checkpoint";
  const std::vector<std::string> names = names_or_none(path);
  if (names.empty()) return "is an empty folder";
  return fmt::format("is a folder without a manifest.json or checkpoints; it contains {}",
                     shown(names));
}

}  // namespace

std::string near_hint(const std::string& path) {
  fs::path place(path);
  if (!place.has_filename()) place = place.parent_path();
  if (place.filename() == kManifestName) place = place.parent_path();
  std::vector<std::string> found = near(place);
  std::erase(found, place);
  return found.empty() ? "specify another checkpoint"
                       : fmt::format("specify another one; nearby: {}", shown(found));
}

Error no_checkpoint_error(const std::string& what, const std::string& path) {
  fs::path place(path);
  if (!place.has_filename()) place = place.parent_path();
  const std::vector<std::string> found = near(place);
  return {ErrorKind::config, fmt::format("{} {} {}", what, path, what_is_there(place)),
          found.empty() ? "specify a checkpoint (step-00000040) or a folder of checkpoints"
                        : fmt::format("nearby: {}", shown(found))};
}

}  // namespace ds
