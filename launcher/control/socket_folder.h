// Folders of the private sockets of running jobs, with checks of owner and mode.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/unique_fd.h"

namespace ds::launcher {

/// Variable with the one folder to use, instead of the default folders.
inline constexpr const char* kSocketFolderVariable = "DSLAUNCH_RUNTIME_DIR";

/// Returns the folders in which a job of this user may have its socket, the preferred one first:
/// only $DSLAUNCH_RUNTIME_DIR if it is set; otherwise $XDG_RUNTIME_DIR/dslaunch,
/// /run/user/UID/dslaunch and /tmp/dslaunch-UID. All are searched because a job without a login
/// session has no runtime folder and a job that outlives its session loses it. Pure.
std::vector<std::string> socket_folders(
    const std::function<std::optional<std::string>(const std::string&)>& variable, uid_t uid);

struct EndedJob {
  std::string id;
  int code = 0;
};
inline constexpr std::size_t kEndedKept = 64;

/// An open folder that belongs to the user and that no other user can read or write. All operations
/// use its descriptor: nobody can replace the folder, and its path may be longer than a socket
/// address.
class SocketFolder {
 public:
  /// Opens the folder. Returns nothing if it does not exist.
  /// Errors:  Error{system} naming the problem: another owner, rights for others, not a folder.
  static std::optional<SocketFolder> open(const std::string& path);
  /// Opens the folder, and creates it with mode 0700 if it does not exist.
  static SocketFolder open_or_make(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Returns an address of the file `name` for bind(2) and connect(2), valid while this object
  /// lives.
  [[nodiscard]] std::string address_of(const std::string& name) const;
  /// Returns the sorted ids of the jobs that have sockets there; they may be dead.
  [[nodiscard]] std::vector<std::string> ids() const;
  [[nodiscard]] bool contains(const std::string& name) const;
  void remove(const std::string& name) const { ::unlinkat(fd_.get(), name.c_str(), 0); }
  /// Returns false if the rename fails.
  [[nodiscard]] bool rename(const std::string& from, const std::string& to) const {
    return ::renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()) == 0;
  }
  /// Writes a note that job `id` ended with `code`. Keeps the newest kEndedKept notes.
  void note_end(const std::string& id, int code) const;
  /// Returns the ended jobs whose ids begin with `typed`, sorted by id.
  [[nodiscard]] std::vector<EndedJob> ended(std::string_view typed) const;

 private:
  [[nodiscard]] std::vector<std::string> ids_with(std::string_view suffix) const;
  SocketFolder(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  UniqueFd fd_;
};

/// Returns the socket name "ID.sock" of an id.
std::string socket_name(const std::string& id);

}  // namespace ds::launcher
