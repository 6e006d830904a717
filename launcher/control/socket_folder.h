// Where the private sockets of running jobs lie, and who may have put them there.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/unique_fd.h"

namespace ds::launcher {

/// Names the one folder to use, instead of all those below.
inline constexpr const char* kSocketFolderVariable = "DSLAUNCH_RUNTIME_DIR";

/// The folders in which a job of this user may have its socket, the one to prefer first:
/// $DSLAUNCH_RUNTIME_DIR alone if it is set; else $XDG_RUNTIME_DIR/dslaunch, /run/user/UID/dslaunch
/// and /tmp/dslaunch-UID. A job without a login session has no runtime folder, and one that
/// outlives its session loses it: so all are looked at. Pure.
std::vector<std::string> socket_folders(
    const std::function<std::optional<std::string>(const std::string&)>& variable, uid_t uid);

/// A folder that was opened and found to be the user's own, and nobody else's to write or read.
/// What is done in it goes through the descriptor: nobody can put another folder in its place, and
/// its path may be longer than a socket's address.
class SocketFolder {
 public:
  /// Opens it. Empty if it is not there.
  /// Errors:  Error{system} naming what is wrong: another owner, rights for others, not a folder.
  static std::optional<SocketFolder> open(const std::string& path);
  /// The same, and makes it with mode 0700 if it is not there.
  static SocketFolder open_or_make(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// An address for bind(2) and connect(2) of the file `name` in it, good while this object lives.
  [[nodiscard]] std::string address_of(const std::string& name) const;
  /// Ids of the jobs whose sockets lie there, in order; whether they still run is not known.
  [[nodiscard]] std::vector<std::string> ids() const;
  [[nodiscard]] bool contains(const std::string& name) const;
  void remove(const std::string& name) const;
  /// False if the system refuses.
  [[nodiscard]] bool rename(const std::string& from, const std::string& to) const;

 private:
  SocketFolder(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  UniqueFd fd_;
};

/// "ID.sock", and the id of such a name; empty for other names.
std::string socket_name(const std::string& id);
std::string id_of_socket(const std::string& name);

}  // namespace ds::launcher
