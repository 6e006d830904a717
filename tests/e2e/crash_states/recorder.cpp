// Replaces the C library's calls that change files. Each records and does the system call itself.
#include "e2e/crash_states/recorder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <memory>
#include <optional>
#include <utility>

namespace ds::test {
namespace {

using Kind = FileOp::Kind;

struct Place {
  int folder = -1;
  std::string name;
};

struct Watch {
  std::string root;
  FileLog log;
  Disk disk;  // state after all operations, as the program sees it
  int nodes = 1;
  std::map<int, int> open{};               // node by descriptor
  std::map<int, std::int64_t> position{};  // file position by descriptor
  std::size_t dies_after = std::numeric_limits<std::size_t>::max();
  bool died = false;
};

std::unique_ptr<Watch> watch;  // global, because the calls below receive no argument for it

/// Resolves a path from `folder`; nothing if it is not below the watched folder. An empty name
/// stands for the folder itself.
std::optional<Place> walk(int folder, std::string_view path) {
  std::optional<Place> place = Place{folder, ""};
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string name(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
    if (name.empty() || name == ".") continue;
    if (!place->name.empty()) {
      const auto& names = watch->disk.node(place->folder).names;
      const auto found = names.find(place->name);
      if (found == names.end()) return std::nullopt;
      place->folder = found->second;
    }
    place->name = name;
  }
  return place;
}

std::optional<Place> place_of(int at, const char* path) {
  if (!watch) return std::nullopt;
  const std::string_view whole(path);
  if (whole.starts_with(watch->root)) return walk(0, whole.substr(watch->root.size()));
  const auto open = watch->open.find(at);
  if (open == watch->open.end() || whole.starts_with('/')) return std::nullopt;
  return walk(open->second, whole);
}

std::optional<int> node_at(const Place& place) {
  if (place.name.empty()) return place.folder;
  const auto& names = watch->disk.node(place.folder).names;
  const auto found = names.find(place.name);
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

void record(FileOp op) {
  watch->disk.apply(op);
  watch->log.ops.push_back(std::move(op));
}

/// Returns whether file operations of this process fail by now, with errno set.
bool is_dead() {
  if (watch && watch->log.ops.size() >= watch->dies_after) watch->died = true;
  if (!watch || !watch->died) return false;
  errno = EIO;
  return true;
}

int recorded_open(int at, const char* path, int flags, mode_t mode) {
  const std::optional<Place> place = place_of(at, path);
  const bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
  if (!place || nameless) {
    const int file = static_cast<int>(::syscall(SYS_openat, at, path, flags, mode));
    if (watch) watch->open.erase(file);  // a reused descriptor whose close() was not seen
    return file;
  }
  const std::optional<int> before = node_at(*place);
  const bool changes = (!before && (flags & O_CREAT) != 0) || (flags & O_TRUNC) != 0;
  if (changes && is_dead()) return -1;
  const int file = static_cast<int>(::syscall(SYS_openat, at, path, flags, mode));
  if (file < 0) return file;
  int node = before.value_or(-1);
  if (!before) {
    node = watch->nodes++;
    record({.kind = Kind::make, .node = node, .folder = place->folder, .name = place->name});
  } else if ((flags & O_TRUNC) != 0 && !watch->disk.node(node).bytes.empty()) {
    record({.kind = Kind::resize, .node = node});
  }
  watch->open[file] = node;
  watch->position[file] = 0;
  return file;
}

ssize_t recorded_write(int file, const void* bytes, std::size_t size, std::int64_t at) {
  const bool known = watch && watch->open.contains(file);
  if (known && is_dead()) return -1;
  const bool by_position = at < 0;
  const ssize_t sent = by_position ? ::syscall(SYS_write, file, bytes, size)
                                   : ::syscall(SYS_pwrite64, file, bytes, size, at);
  if (!known || sent <= 0) return sent;
  const std::int64_t from = by_position ? watch->position[file] : at;
  if (by_position) watch->position[file] += sent;
  record({.kind = Kind::write,
          .node = watch->open[file],
          .bytes = std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(sent)),
          .offset = from});
  return sent;
}

int recorded_resize(int file, std::int64_t size) {
  const bool known = watch && watch->open.contains(file);
  if (known && is_dead()) return -1;
  const int result = static_cast<int>(::syscall(SYS_ftruncate, file, size));
  if (known && result == 0) {
    record({.kind = Kind::resize, .node = watch->open[file], .offset = size});
  }
  return result;
}

int recorded_sync(int file, long call) {
  const bool known = watch && watch->open.contains(file);
  if (known && is_dead()) return -1;
  const int result = static_cast<int>(::syscall(call, file));
  if (known && result == 0) {
    const int node = watch->open[file];
    record({.kind = Kind::sync, .node = node, .is_folder = watch->disk.node(node).is_folder});
  }
  return result;
}

int recorded_remove(int at, const char* path, int flags) {
  const std::optional<Place> place = place_of(at, path);
  if (place && is_dead()) return -1;
  const int result = static_cast<int>(::syscall(SYS_unlinkat, at, path, flags));
  if (place && result == 0) {
    record({.kind = Kind::remove, .folder = place->folder, .name = place->name});
  }
  return result;
}

int recorded_mkdir(int at, const char* path, mode_t mode) {
  const std::optional<Place> place = place_of(at, path);
  if (place && is_dead()) return -1;
  const int result = static_cast<int>(::syscall(SYS_mkdirat, at, path, mode));
  if (place && result == 0) {
    record({.kind = Kind::make,
            .node = watch->nodes++,
            .is_folder = true,
            .folder = place->folder,
            .name = place->name});
  }
  return result;
}

int recorded_rename(int at, const char* from, int to_at, const char* to) {
  const std::optional<Place> place = place_of(at, from);
  const std::optional<Place> to_place = place_of(to_at, to);
  if (place && is_dead()) return -1;
  const int result = static_cast<int>(::syscall(SYS_renameat2, at, from, to_at, to, 0));
  if (place && to_place && result == 0) {
    const int node = node_at(*place).value();
    record({.kind = Kind::rename,
            .node = node,
            .is_folder = watch->disk.node(node).is_folder,
            .folder = place->folder,
            .to_folder = to_place->folder,
            .name = place->name,
            .to_name = to_place->name});
  }
  return result;
}

}  // namespace

Recorder::Recorder(std::string folder) {
  watch = std::make_unique<Watch>();
  watch->root = std::move(folder);
}
Recorder::~Recorder() { watch.reset(); }
const FileLog& Recorder::log() const { return watch->log; }
void Recorder::promise(std::int64_t floor, std::int64_t ceiling) {
  watch->log.promises.push_back({watch->log.ops.size(), floor, ceiling});
}
void Recorder::die_after(std::size_t ops) { watch->dies_after = ops; }
void Recorder::live_on() {
  watch->dies_after = std::numeric_limits<std::size_t>::max();
  watch->died = false;
}
bool Recorder::died() const { return watch->died; }
bool Recorder::missed_nothing() const { return folder_text(watch->root) == watch->disk.text(); }

}  // namespace ds::test

namespace t = ds::test;

// Names and signatures are those of the C library.
extern "C" {
static mode_t mode_of(int flags, va_list rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return t::recorded_open(AT_FDCWD, path, flags, mode);
}
int openat(int at, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return t::recorded_open(at, path, flags, mode);
}
int open64(const char* path, int flags, ...) __attribute__((alias("open")));
int openat64(int at, const char* path, int flags, ...) __attribute__((alias("openat")));
int ftruncate(int file, off_t size) { return t::recorded_resize(file, size); }
ssize_t write(int file, const void* bytes, size_t size) {
  return t::recorded_write(file, bytes, size, -1);
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) {
  return t::recorded_write(file, bytes, size, at);
}
ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at) {
  return t::recorded_write(file, bytes, size, at);
}
int fsync(int file) { return t::recorded_sync(file, SYS_fsync); }
int fdatasync(int file) { return t::recorded_sync(file, SYS_fdatasync); }
int unlink(const char* path) { return t::recorded_remove(AT_FDCWD, path, 0); }
int unlinkat(int at, const char* path, int flags) { return t::recorded_remove(at, path, flags); }
int rmdir(const char* path) { return t::recorded_remove(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char* path) {
  const int result = unlink(path);
  return result != 0 && errno == EISDIR ? rmdir(path) : result;
}
int mkdir(const char* path, mode_t mode) { return t::recorded_mkdir(AT_FDCWD, path, mode); }
int mkdirat(int at, const char* path, mode_t mode) { return t::recorded_mkdir(at, path, mode); }
int rename(const char* from, const char* to) {
  return t::recorded_rename(AT_FDCWD, from, AT_FDCWD, to);
}
int renameat(int at, const char* from, int to_at, const char* to) {
  return t::recorded_rename(at, from, to_at, to);
}
int close(int file) {
  if (t::watch) {
    t::watch->open.erase(file);
    t::watch->position.erase(file);
  }
  return static_cast<int>(::syscall(SYS_close, file));
}
}
