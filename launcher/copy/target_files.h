// The files below one folder of this machine, as the target of a copy.
#pragma once

#include <sys/stat.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "engine/base/unique_fd.h"
#include "launcher/copy/copy_target.h"

namespace ds::launcher::copy {

/// Promise: never follows a link below `base`, so that no source can make it write elsewhere.
///          Permission bits of files are those of the source: without `keep` less the umask.
class TargetFiles : public TargetDisk {
 public:
  /// `shown`: the name of `base` in messages, with a slash at its end, or empty.
  TargetFiles(UniqueFd base, std::string shown, bool keep)
      : base_(std::move(base)), shown_(std::move(shown)), keep_(keep) {}

  std::string look(const std::string& path, Existing& found) override;
  std::string make_folder(const std::string& path) override;
  std::string make_link(const std::string& path, const std::string& target) override;
  std::string hash(const std::string& path, bool part, std::uint64_t from, std::uint64_t size,
                   Hasher& hasher) override;
  std::string open(const std::string& path, std::uint64_t from) override;
  std::string write(std::span<const std::byte> bytes) override;
  std::string commit(const CopyEntry& entry) override;
  void leave(bool remove) override;
  std::string settle(const std::string& path, const CopyEntry& entry) override;

  /// Opens a file, or its temporary file, for reading; empty if there is none.
  UniqueFd open_to_read(const std::string& path, bool part);

 private:
  struct Place {
    int folder = -1;
    std::string name{};
    std::string problem{};
  };
  using Stamp = std::tuple<dev_t, ino_t, off_t, std::int64_t>;  // the last: time of modification
  static Stamp stamp_of(const struct stat& known);
  Place place_of(const std::string& path);
  std::string open_part(const std::string& path, bool create, struct stat& known);
  [[nodiscard]] std::string changed(const std::string& path) const;
  [[nodiscard]] std::string why(const char* what, const std::string& path, int error) const;
  [[nodiscard]] std::string set_mode_and_time(int fd, const CopyEntry& entry) const;

  UniqueFd base_;
  std::string shown_;
  bool keep_;
  std::string folder_path_;  // the folder that is open, without a slash
  UniqueFd folder_;
  std::map<std::string, Stamp> hashed_;  // temporary files, as they were when they were hashed
  std::string path_;                     // the file that is written
  UniqueFd file_;
};

/// Adds the next `size` bytes of an open file to a digest. Returns the error number; 0: none.
int hash_bytes(int file, std::uint64_t size, Hasher& hasher);

/// Returns the temporary name of a file.
std::string part_name(const std::string& name);

}  // namespace ds::launcher::copy
