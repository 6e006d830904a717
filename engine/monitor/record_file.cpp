// RecordFile: cuts off the part of a record that a full disk has left.
#include "engine/monitor/record_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ds {

RecordFile RecordFile::open(const std::string& path, int flags) {
  RecordFile made;
  made.path_ = path;
  made.file_ = UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0666));
  if (!made.file_) made.error_ = errno;
  if (made.file_) made.end_ = ::lseek(made.file_.get(), 0, SEEK_END);
  return made;
}

RecordFile RecordFile::create(const std::string& path) { return open(path, O_EXCL); }

RecordFile RecordFile::continued(const std::string& path) { return open(path, 0); }

bool RecordFile::append(std::string_view record) {
  if (!file_) return false;
  ssize_t sent = 0;
  do {
    sent = ::write(file_.get(), record.data(), record.size());
  } while (sent < 0 && errno == EINTR);
  if (sent == static_cast<ssize_t>(record.size())) {
    end_ += sent;
    return true;
  }
  error_ = sent < 0 ? errno : ENOSPC;
  // A file that still ends in a part of a record must not grow.
  if (sent > 0 && ::ftruncate(file_.get(), end_) != 0) file_.reset();
  return false;
}

std::string RecordFile::problem() const {
  return fmt::format("{}: {}", path_, std::strerror(error_));
}

}  // namespace ds
