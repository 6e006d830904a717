// OutFolder: writes to a temporary folder, syncs, renames, syncs the parent.
#include "engine/exchange/out_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/checkpoint/disk_error.h"

namespace ds {
namespace {

namespace fs = std::filesystem;

/// Calls fsync on a path, which may be a folder.
void sync(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0) throw disk_error(path, "cannot be synced to disk", errno);
}

Error refuse(const std::string& path, const std::string& what, std::string hint) {
  return {ErrorKind::config, fmt::format("{}: {}", path, what), std::move(hint)};
}

/// Returns the folder that contains `path`.
std::string parent_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

void require_new(const std::string& path) {
  std::error_code error;
  const bool is_free =
      !fs::exists(path, error) || (fs::is_directory(path, error) && fs::is_empty(path, error));
  if (error) throw refuse(path, "cannot be read: " + error.message(), "");
  if (!is_free) throw refuse(path, "already exists", "nothing is overwritten; name a new folder");
}

}  // namespace

OutFile::OutFile(std::string path, std::int64_t bytes)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) {
  if (!file_) throw disk_error(path_, "cannot be created", errno);
  if (::ftruncate(file_.get(), bytes) != 0)
    throw disk_error(path_, "cannot be extended to its size", errno);
}

void OutFile::write(std::span<const std::byte> bytes, std::int64_t at) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_.get(), bytes.data(), bytes.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      throw disk_error(path_, fmt::format("cannot be written at byte {}", at), errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    at += written;
  }
}

void OutFile::finish() {
  if (::fsync(file_.get()) != 0) throw disk_error(path_, "cannot be synced to disk", errno);
  if (::close(file_.release()) != 0) throw disk_error(path_, "cannot be closed", errno);
}

OutFolder::OutFolder(std::string path, std::int64_t bytes) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  require_new(path_);
  const std::string parent = parent_of(path_);
  struct statvfs disk {};
  if (::statvfs(parent.c_str(), &disk) != 0)
    throw refuse(parent, std::generic_category().message(errno), "create the folder first");
  const auto free = static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize);
  if (free < bytes)
    throw refuse(
        path_,
        fmt::format("needs {}, but only {} are free", format_bytes(bytes), format_bytes(free)),
        "free some space, or choose another folder");
  writing_ = fmt::format("{}.tmp-{}", path_, ::getpid());
  if (::mkdir(writing_.c_str(), 0755) != 0) throw disk_error(writing_, "cannot be created", errno);
}

OutFolder::~OutFolder() {
  std::error_code ignored;
  if (!is_committed_) fs::remove_all(writing_, ignored);
}

OutFile OutFolder::add(const std::string& name, std::int64_t bytes) const {
  return {writing_ + "/" + name, bytes};
}

void OutFolder::add_text(const std::string& name, std::string_view text) const {
  OutFile file = add(name, std::ssize(text));
  file.write(std::as_bytes(std::span(text)), 0);
  file.finish();
}

void OutFolder::commit() {
  sync(writing_);
  // Replaces nothing or an empty folder: rename() refuses a folder that is not empty.
  if (::rename(writing_.c_str(), path_.c_str()) != 0) {
    if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR)
      throw refuse(path_, "already exists", "nothing is overwritten; name a new folder");
    throw disk_error(path_, "cannot be renamed to its final name", errno);
  }
  is_committed_ = true;
  sync(parent_of(path_));
}

}  // namespace ds
