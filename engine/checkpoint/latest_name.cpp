// Writes and reads DIR/latest. The program itself never uses it to choose a checkpoint.
#include "engine/checkpoint/latest_name.h"

#include <unistd.h>

#include "engine/base/error.h"
#include "engine/checkpoint/folder_files.h"
#include "engine/checkpoint/save_folder.h"
#include "engine/checkpoint/save_names.h"

namespace ds {
namespace {

void write_latest(const std::string& dir, const std::string& name) {
  const std::string path = fmt::format("{}/{}", dir, kLatestName);
  const std::string beside = fmt::format("{}/.{}", dir, kLatestName);
  write_whole(beside, name + "\n");
  rename_in_place(beside, path);
  sync_names(dir);
}

void remove_latest(const std::string& dir) {
  const std::string path = fmt::format("{}/{}", dir, kLatestName);
  if (::unlink(path.c_str()) == 0) sync_names(dir);
}

}  // namespace

std::string latest_name(const std::string& dir) {
  try {
    std::string text = read_whole(fmt::format("{}/{}", dir, kLatestName));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    return step_of(text) ? text : "";
  } catch (const Error&) {
    return "";
  }
}

void point_latest(const std::string& dir, const std::string& name) noexcept {
  try {
    if (name.empty()) return remove_latest(dir);
    if (latest_name(dir) == name) return;
    write_latest(dir, name);
  } catch (...) {
    try {
      remove_latest(dir);
    } catch (...) {  // a stale name stays; the program itself never uses it
    }
  }
}

}  // namespace ds
