#include "launcher/copy/target_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace ds::launcher::copy {
namespace {

constexpr std::size_t kMostName = 200;  // NAME_MAX is 255
constexpr int kFolder = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kOwnFolder = 0700;  // until its content is written
constexpr int kMostOpens = 8;
constexpr std::size_t kReadSize = std::size_t{1} << 20;

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Returns whether a temporary file is one that this user has made. In a folder that all may write
/// to, somebody else could offer one, to own what is copied.
bool is_own(const struct stat& known) {
  return S_ISREG(known.st_mode) && known.st_uid == ::geteuid() && known.st_nlink == 1;
}

mode_t own_umask() {
  static const mode_t mask = [] {
    const mode_t known = ::umask(022);
    ::umask(known);
    return known;
  }();
  return mask;
}

}  // namespace

std::string part_name(const std::string& name) {
  if (name.size() <= kMostName) return fmt::format(".{}.dslaunch-part", name);
  Hasher hasher;
  hasher.add(std::as_bytes(std::span(name)));
  return fmt::format(".{}.{:016x}.dslaunch-part", name.substr(0, kMostName), hasher.digest().low);
}

std::string TargetFiles::why(const char* what, const std::string& path, int error) const {
  if (error == ELOOP || error == ENOTDIR)
    return fmt::format("cannot {} {}{}: a folder on the path is a link or a file", what, shown_,
                       path);
  return fmt::format("cannot {} {}{}: {}", what, shown_, path, std::strerror(error));
}

int hash_bytes(int file, std::uint64_t size, Hasher& hasher) {
  std::vector<std::byte> buffer(kReadSize);
  while (size > 0) {
    const ssize_t got = ::read(file, buffer.data(), std::min<std::uint64_t>(buffer.size(), size));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0 ? EIO : errno;
    hasher.add(std::span(buffer).first(static_cast<std::size_t>(got)));
    size -= static_cast<std::uint64_t>(got);
  }
  return 0;
}

std::string TargetFiles::changed(const std::string& path) const {
  return fmt::format(
      "cannot write {}{}: its incomplete copy changed while it was copied; copy it again", shown_,
      path);
}

TargetFiles::Stamp TargetFiles::stamp_of(const struct stat& known) {
  return {known.st_dev, known.st_ino, known.st_size, nanoseconds(known.st_mtim)};
}

/// Opens the folders on the path one by one, without following links.
TargetFiles::Place TargetFiles::place_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {base_.get(), path};
  const std::string folder = path.substr(0, slash);
  if (!folder_ || folder != folder_path_) {
    UniqueFd at;
    int from = base_.get();
    for (std::size_t begin = 0; begin < folder.size();) {
      const std::size_t end = std::min(folder.find('/', begin), folder.size());
      const std::string name = folder.substr(begin, end - begin);
      UniqueFd next(::openat(from, name.c_str(), O_PATH | kFolder));
      if (!next) return {-1, {}, why("open the folder of", path, errno)};
      at = std::move(next);
      from = at.get();
      begin = end + 1;
    }
    folder_ = std::move(at);
    folder_path_ = folder;
  }
  return {folder_.get(), path.substr(slash + 1)};
}

std::string TargetFiles::look(const std::string& path, Existing& found) {
  const Place place = place_of(path);
  if (!place.problem.empty()) return place.problem;
  struct stat known {};
  if (::fstatat(place.folder, place.name.c_str(), &known, AT_SYMLINK_NOFOLLOW) == 0) {
    // A link is replaced by the file, as its content must not be written elsewhere.
    found.kind = S_ISREG(known.st_mode)   ? Existing::Kind::file
                 : S_ISDIR(known.st_mode) ? Existing::Kind::folder
                 : S_ISLNK(known.st_mode) ? Existing::Kind::none
                                          : Existing::Kind::other;
    found.size = static_cast<std::uint64_t>(known.st_size);
    found.modified = nanoseconds(known.st_mtim);
  } else if (errno != ENOENT) {
    return why("look at", path, errno);
  }
  const std::string part = part_name(place.name);
  if (::fstatat(place.folder, part.c_str(), &known, AT_SYMLINK_NOFOLLOW) == 0 && is_own(known))
    found.part_size = static_cast<std::uint64_t>(known.st_size);
  return {};
}

std::string TargetFiles::make_folder(const std::string& path) {
  const Place place = place_of(path);
  if (!place.problem.empty()) return place.problem;
  if (::mkdirat(place.folder, place.name.c_str(), kOwnFolder) == 0) return {};
  struct stat known {};
  const int error = errno;
  const bool exists =
      error == EEXIST &&
      ::fstatat(place.folder, place.name.c_str(), &known, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISDIR(known.st_mode);
  return exists ? std::string() : why("make the folder", path, error);
}

std::string TargetFiles::make_link(const std::string& path, const std::string& target) {
  const Place place = place_of(path);
  if (!place.problem.empty()) return place.problem;
  const std::string part = part_name(place.name);
  ::unlinkat(place.folder, part.c_str(), 0);
  if (::symlinkat(target.c_str(), place.folder, part.c_str()) == 0 &&
      ::renameat(place.folder, part.c_str(), place.folder, place.name.c_str()) == 0)
    return {};
  const int error = errno;
  ::unlinkat(place.folder, part.c_str(), 0);
  return why("make the link", path, error);
}

UniqueFd TargetFiles::open_to_read(const std::string& path, bool part) {
  const Place place = place_of(path);
  const std::string name = part ? part_name(place.name) : place.name;
  if (!place.problem.empty()) return UniqueFd();
  return UniqueFd(::openat(place.folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
}

std::string TargetFiles::hash(const std::string& path, bool part, std::uint64_t from,
                              std::uint64_t size, Hasher& hasher) {
  const UniqueFd file = open_to_read(path, part);
  struct stat known {};
  if (part && from == 0 && ::fstat(file.get(), &known) == 0) hashed_[path] = stamp_of(known);
  const bool at = ::lseek(file.get(), static_cast<off_t>(from), SEEK_SET) >= 0;
  const int error = at ? hash_bytes(file.get(), size, hasher) : errno;
  return error == 0 ? std::string() : why("read", path, error);
}

/// Opens the temporary file and locks it. A copy that ran side by side may have given it its final
/// name between the two steps; then it is opened again, as it must not be written any more.
std::string TargetFiles::open_part(const std::string& path, bool create, struct stat& known) {
  const Place place = place_of(path);
  if (!place.problem.empty()) return place.problem;
  const std::string part = part_name(place.name);
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
  for (int i = 0; i < kMostOpens; ++i) {
    int refused = 0;  // why it was not created
    // On a shared file system a file that root has made may belong to nobody.
    if (create) {
      file_.reset(
          ::openat(place.folder, part.c_str(), kFlags | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR));
      if (!file_) refused = errno;
    }
    const bool is_new = create && file_;
    if (!is_new) file_.reset(::openat(place.folder, part.c_str(), kFlags));
    if (!file_ && errno == ENOENT && refused == EEXIST) continue;
    if (!file_ && errno == ENOENT) return create ? why("write", path, refused) : changed(path);
    if (!file_) return why("write", path, errno);
    if (!is_new && (::fstat(file_.get(), &known) != 0 || !is_own(known))) {
      if (!create) return changed(path);
      if (::unlinkat(place.folder, part.c_str(), 0) != 0 && errno != ENOENT)
        return why("replace the temporary file of", path, errno);
      continue;
    }
    if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) break;
      return why("lock the temporary file of", path, errno);
    }
    struct stat named {};
    if (::fstat(file_.get(), &known) != 0) return why("write", path, errno);
    if (::fstatat(place.folder, part.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0) {
      if (named.st_dev == known.st_dev && named.st_ino == known.st_ino) return {};
    } else if (errno != ENOENT) {
      return why("write", path, errno);
    }
  }
  return fmt::format(
      "cannot write {}{}: another copy writes it (do several nodes share this folder?)", shown_,
      path);
}

std::string TargetFiles::open(const std::string& path, std::uint64_t from) {
  path_ = path;
  struct stat known {};
  std::string problem = open_part(path, from == 0, known);
  // The digest of the first bytes is only that of the file that was hashed.
  const auto hashed = hashed_.extract(path);
  if (problem.empty() && from > 0 && (hashed.empty() || hashed.mapped() != stamp_of(known)))
    problem = changed(path);
  if (!problem.empty()) {
    file_.reset();
    return problem;
  }
  const auto start = static_cast<off_t>(from);
  if (::ftruncate(file_.get(), start) != 0 || ::lseek(file_.get(), start, SEEK_SET) < 0) {
    const int error = errno;
    leave(true);
    return why("write", path, error);
  }
  return {};
}

std::string TargetFiles::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file_.get(), bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return why("write", path_, wrote == 0 ? EIO : errno);
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
  return {};
}

std::string TargetFiles::set_mode_and_time(int fd, const CopyEntry& entry) const {
  const mode_t mode = keep_ ? entry.mode & 07777 : entry.mode & 0777 & ~own_umask();
  if (::fchmod(fd, mode) != 0) return std::strerror(errno);
  if (!keep_) return {};
  std::int64_t seconds = entry.modified / 1'000'000'000;
  std::int64_t rest = entry.modified % 1'000'000'000;
  if (rest < 0) {
    rest += 1'000'000'000;
    --seconds;
  }
  timespec times[2]{};
  times[0].tv_nsec = UTIME_OMIT;
  times[1].tv_sec = seconds;
  times[1].tv_nsec = rest;
  return ::futimens(fd, times) == 0 ? std::string() : std::strerror(errno);
}

std::string TargetFiles::commit(const CopyEntry& entry) {
  const Place place = place_of(path_);
  if (!place.problem.empty()) return place.problem;
  // File systems of other machines may tell only now that the bytes have no room there.
  if (const int twin = ::dup(file_.get()); twin < 0 || ::close(twin) != 0)
    return why("write", path_, errno);
  if (std::string problem = set_mode_and_time(file_.get(), entry); !problem.empty())
    return fmt::format("cannot set mode and time of {}{}: {}", shown_, path_, problem);
  const std::string part = part_name(place.name);
  if (::renameat(place.folder, part.c_str(), place.folder, place.name.c_str()) != 0)
    return why("write", path_, errno);
  file_.reset();
  return {};
}

void TargetFiles::leave(bool remove) {
  if (remove && file_)
    if (const Place place = place_of(path_); place.problem.empty())
      ::unlinkat(place.folder, part_name(place.name).c_str(), 0);
  file_.reset();
}

std::string TargetFiles::settle(const std::string& path, const CopyEntry& entry) {
  const bool folder = entry.kind == EntryKind::folder;
  if (!folder && !keep_) return {};
  const Place place = place_of(path);
  if (!place.problem.empty()) return place.problem;
  const UniqueFd fd(::openat(place.folder, place.name.c_str(),
                             O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (folder ? O_DIRECTORY : 0)));
  std::string problem = fd ? set_mode_and_time(fd.get(), entry) : std::strerror(errno);
  if (problem.empty()) return {};
  return fmt::format("cannot set mode and time of {}{}: {}", shown_, path, problem);
}

}  // namespace ds::launcher::copy
