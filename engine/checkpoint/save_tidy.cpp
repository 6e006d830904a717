// Removes incomplete saves and old checkpoints, and sets aside those after the resumed step.
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/checkpoint/folder_files.h"
#include "engine/checkpoint/folder_lock.h"
#include "engine/checkpoint/latest_name.h"
#include "engine/checkpoint/reader.h"
#include "engine/checkpoint/save_folder.h"
#include "engine/checkpoint/save_names.h"

namespace ds {
namespace {

bool opens(const std::string& folder) {
  try {
    return Checkpoint::open(folder) != nullptr;
  } catch (const Error&) {
    return false;
  }
}

/// Returns the first free set-aside name of this step.
std::string free_aside_path(const std::string& dir, std::int64_t step) {
  for (int number = 1;; ++number) {
    std::string path = fmt::format("{}/{}", dir, set_aside_name(step, number));
    if (!is_there(path)) return path;
  }
}

/// Finishes a replacement during which a run ended: an intact checkpoint of the two gets the plain
/// name. Returns whether the replaced one may be removed.
bool settle_replaced(const std::string& dir, const std::string& name, std::int64_t step) {
  const std::string replaced = fmt::format("{}/{}", dir, name);
  const std::string final_path = fmt::format("{}/{}", dir, step_name(step));
  if (is_there(final_path)) {
    if (opens(final_path) || !opens(replaced)) return true;
    rename_in_place(final_path, free_aside_path(dir, step));
  }
  rename_in_place(replaced, final_path);
  sync_names(dir);
  return false;
}

/// Returns names left by runs that ended, which may be removed.
std::vector<std::string> leftovers(const std::string& dir) {
  std::vector<std::string> found;
  for (const std::string& name : names_in(dir)) {
    const auto parsed = parse_save_name(name);
    if (!parsed && name.starts_with(kProbePrefix)) found.push_back(name);
    if (!parsed) continue;
    const bool replaced = parsed->kind == SaveKind::replaced;
    const bool gone = parsed->kind == SaveKind::unfinished || parsed->kind == SaveKind::removed;
    if (gone || (replaced && settle_replaced(dir, name, parsed->step))) found.push_back(name);
  }
  return found;
}

}  // namespace

void SaveFolder::own(std::chrono::milliseconds patience, const LockHolder& holder) {
  lock_ = lock_folder(dir_, holder, Deadline::after(patience));
  // A run that was killed may have renamed without a sync; sync before anything is removed.
  sync_names(dir_);
  for (const std::string& name : leftovers(dir_)) remove_all_of(fmt::format("{}/{}", dir_, name));
  const std::vector<std::string> names = complete();
  point_latest(dir_, names.empty() ? "" : names.front());
}

std::vector<std::int64_t> SaveFolder::thin_out(const KeepPolicy& policy) const noexcept {
  try {
    std::vector<std::int64_t> steps;
    for (const std::string& name : complete()) steps.push_back(*step_of(name));
    std::vector<std::int64_t> removed;
    std::vector<std::string> paths;
    for (const std::int64_t step : surplus(steps, policy)) {
      const std::string from = fmt::format("{}/{}", dir_, step_name(step));
      const std::string to = fmt::format("{}/{}", dir_, removed_name(step, epoch_));
      if (::rename(from.c_str(), to.c_str()) != 0) continue;
      removed.push_back(step);
      paths.push_back(to);
    }
    if (paths.empty()) return removed;
    sync_names(dir_);  // else a crash could restore the name of a half-removed folder
    for (const std::string& path : paths) remove_all_of(path);
    return removed;
  } catch (...) {  // own() or the next call removes them
    return {};
  }
}

std::vector<std::string> SaveFolder::set_aside_after(std::int64_t step) const {
  std::vector<std::string> left;
  std::string newest;  // newest checkpoint that stays
  for (const std::string& name : complete()) {
    if (*step_of(name) > step) {
      left.push_back(name);
    } else if (newest.empty()) {
      newest = name;
    }
  }
  if (left.empty()) return left;
  point_latest(dir_, newest);
  std::vector<std::string> aside;
  for (const std::string& name : left) {
    const std::string path = free_aside_path(dir_, *step_of(name));
    rename_in_place(fmt::format("{}/{}", dir_, name), path);
    aside.push_back(path.substr(dir_.size() + 1));
  }
  sync_names(dir_);
  return aside;
}

}  // namespace ds
