#include "launcher/copy/copy_source.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>

#include "engine/base/freed.h"
#include "launcher/copy/source_paths.h"

namespace ds::launcher::copy {
namespace {

constexpr std::size_t kReadToHash = std::size_t{256} << 10;
constexpr std::size_t kMostContent = std::size_t{64} << 20;  // of files without a size, in memory

std::int64_t modified_of(const struct stat& known) {
  return std::int64_t{known.st_mtim.tv_sec} * 1'000'000'000 + known.st_mtim.tv_nsec;
}

bool is_same(const struct stat& known, const SourcePlace& place) {
  return known.st_dev == place.device && known.st_ino == place.inode;
}

std::string changed(const std::string& path) {
  return fmt::format("{} changed while it was copied; copy it again", path);
}

/// Collects the entries of one walk.
class Lister {
 public:
  Lister(SourceList& list, bool recursive) : list_(list), recursive_(recursive) {}

  /// `named`: the user named it.
  void add(const std::string& place, const std::string& path, bool named) {
    struct stat known {};
    const int flags = recursive_ ? AT_SYMLINK_NOFOLLOW : 0;
    if (::fstatat(AT_FDCWD, place.c_str(), &known, flags) != 0)
      return refuse(place, std::strerror(errno));
    CopyEntry entry{.id = static_cast<std::uint32_t>(list_.entries.size()),
                    .path = path,
                    .mode = known.st_mode & 07777U,
                    .modified = modified_of(known)};
    SourcePlace source{place, known.st_dev, known.st_ino};
    if (path.size() > kMaxPathBytes) return refuse(place, "the path is too long");
    if (S_ISREG(known.st_mode)) {
      entry.size = static_cast<std::uint64_t>(known.st_size);
      if (::access(place.c_str(), R_OK) != 0) return refuse(place, std::strerror(errno));
      if (may_hide_size(known) && !read_content(entry, source, known)) return;
    } else if (S_ISLNK(known.st_mode)) {
      entry.kind = EntryKind::link;
      std::string target(kMaxPathBytes, '\0');
      const ssize_t size = ::readlink(place.c_str(), target.data(), target.size());
      if (size < 0) return refuse(place, std::strerror(errno));
      entry.link = target.substr(0, static_cast<std::size_t>(size));
    } else if (S_ISDIR(known.st_mode)) {
      if (!recursive_) return refuse(place, "is a folder; copy folders with -r");
      entry.kind = EntryKind::folder;
    } else {
      constexpr const char* kWhy = "is not a file, folder or link";
      return named ? refuse(place, kWhy) : count(list_.skipped, skipped_, "skipped " + place, kWhy);
    }
    const bool folder = entry.kind == EntryKind::folder;
    list_.entries.push_back(std::move(entry));
    list_.places.push_back(std::move(source));
    if (folder) add_content(SourcePlace(list_.places.back()), path);
  }
  void refuse(const std::string& place, const std::string& why) {
    count(list_.problem, refused_, place, why);
  }
  /// Adds how many others there are.
  void finish() {
    if (refused_ > 1) list_.problem += fmt::format(" (and {} more)", refused_ - 1);
    if (skipped_ > 1) list_.skipped += fmt::format(" (and {} more)", skipped_ - 1);
  }

 private:
  /// Keeps the first of several texts, and counts all.
  static void count(std::string& first, std::size_t& number, const std::string& place,
                    const std::string& why) {
    if (number++ == 0) first = fmt::format("{}: {}", place, why);
  }
  /// Keeps the content of a file that has another size than it says.
  bool read_content(CopyEntry& entry, SourcePlace& source, const struct stat& known) {
    std::string problem;
    const std::size_t most = std::max(kMostContent, kept_ + kPage) - kept_;
    auto content = read_whole(source.path, known, most, problem);
    if (!content) return refuse(source.path, problem), false;
    if (content->size() == entry.size) return true;
    kept_ += content->size();
    entry.size = content->size();
    source.content = std::move(content);
    return true;
  }

  void add_content(const SourcePlace& place, const std::string& path) {
    UniqueFd folder(::open(place.path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat known {};
    if (!folder) return refuse(place.path, std::strerror(errno));
    if (::fstat(folder.get(), &known) != 0 || !is_same(known, place))
      return refuse(place.path, "changed while it was listed");
    const std::unique_ptr<DIR, Freed<::closedir>> content(::fdopendir(folder.get()));
    if (!content) return refuse(place.path, std::strerror(errno));
    (void)folder.release();  // closedir() closes it
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* const each = ::readdir(content.get())) names.emplace_back(each->d_name);
    if (errno != 0) return refuse(place.path, std::strerror(errno));
    std::ranges::sort(names);
    for (const std::string& name : names)
      if (name != "." && name != ".." && !name.ends_with(".dslaunch-part"))
        add(place.path + "/" + name, path + "/" + name, false);
  }

  SourceList& list_;
  bool recursive_;
  std::size_t refused_ = 0;
  std::size_t skipped_ = 0;
  std::size_t kept_ = 0;  // bytes
};

/// Returns the last name of a path, also of "." and "models/".
std::string last_name(const std::string& place) {
  std::filesystem::path path(place);
  if (path.filename().empty()) path = path.parent_path();
  const std::string name = path.filename().string();
  if (name != "." && name != "..") return name == "/" ? std::string() : name;
  std::error_code error;
  return std::filesystem::canonical(place, error).filename().string();
}

}  // namespace

SourceList list_sources(const std::vector<std::string>& paths, bool recursive) {
  SourceList list;
  Lister lister(list, recursive);
  std::set<std::string> names;
  for (const std::string& place : paths) {
    const std::string name = last_name(place);
    if (name.empty())
      lister.refuse(place, "has no name of its own; name what is below it");
    else if (!names.insert(name).second)
      lister.refuse(place, "has the same name as another source; copy it in a command of its own");
    else
      lister.add(place, name, true);
  }
  lister.finish();
  return list;
}

SourceFile::SourceFile(const CopyEntry& entry, const SourcePlace& place)
    : entry_(entry),
      place_(place),
      file_(place.content ? -1 : ::open(place.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (!file_ && !place.content)
    problem_ = fmt::format("cannot read {}: {}", place_.path, std::strerror(errno));
  check();
}

void SourceFile::check() {
  if (!problem_.empty() || place_.content) return;
  struct stat known {};
  const bool there =
      ::fstat(file_.get(), &known) == 0 && is_same(known, place_) && S_ISREG(known.st_mode);
  const auto size = static_cast<std::uint64_t>(known.st_size);
  const bool unchanged = size == entry_.size && modified_of(known) == entry_.modified;
  grown_ = there && size > entry_.size;
  if (!there || (!grown_ && !unchanged)) problem_ = changed(place_.path);
}

void SourceFile::compare(const Digest& sent, const Digest& now) {
  if (problem_.empty() && sent != now) problem_ = changed(place_.path);
}

void SourceFile::hash(std::uint64_t from, std::uint64_t to, Hasher& hasher) {
  while (from < to && problem_.empty()) {
    const Bytes bytes = read(from, std::min<std::uint64_t>(kReadToHash, to - from));
    hasher.add(bytes);
    from += bytes.size();
  }
}

Bytes SourceFile::read(std::uint64_t offset, std::size_t count) {
  if (place_.content) {
    const auto begin = place_.content->begin() + static_cast<std::ptrdiff_t>(offset);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }
  Bytes bytes(count);
  std::size_t done = 0;
  while (problem_.empty() && done < count) {
    const ssize_t got =
        ::pread(file_.get(), bytes.data() + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) problem_ = fmt::format("cannot read {}: {}", place_.path, std::strerror(errno));
    if (got == 0) problem_ = changed(place_.path);
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

void serve_file(const CopyEntry& entry, const SourcePlace& place, const CopyFetch& fetch,
                std::uint64_t seed, const std::function<void(const CopyMessage&)>& send) {
  SourceFile file(entry, place);
  Hasher hasher(seed);
  for (std::uint64_t at = 0; at < entry.size && file.problem().empty();) {
    const bool before = at < fetch.from;  // only hashed
    const std::uint64_t end = before ? std::min(fetch.from, entry.size) : entry.size;
    const Bytes bytes = file.read(at, std::min<std::uint64_t>(kPieceBytes, end - at));
    hasher.add(bytes);
    if (!before && !bytes.empty()) send(CopyData{entry.id, at, bytes});
    at += bytes.size();
  }
  file.check();
  const Digest digest = hasher.digest();
  if (file.grown()) {
    Hasher again(seed);
    file.hash(0, entry.size, again);
    file.compare(digest, again.digest());
  }
  send(CopyEnd{entry.id, digest, file.problem(), file.grown()});
}

}  // namespace ds::launcher::copy
