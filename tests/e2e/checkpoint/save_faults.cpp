// LD_PRELOAD library for ranks. Calls that change files below DS_SAVE_FAULTS_DIR fail, wait or kill
// as DS_SAVE_FAULTS says (file_faults.h). Each call is noted in DS_SAVE_FAULTS_LOG before it runs:
// "RANK CALL FILE PATH", or "RANK ! WHAT CALL FILE PATH" for a fault. Processes without RANK are
// not affected.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>

#include "e2e/checkpoint/fault_plan.h"

namespace {

using ds::test::call_at;
using ds::test::FaultPlan;
using ds::test::FileFault;
using ds::test::path_of;
using ds::test::perform;
using ds::test::write_at;

/// Makes this rank known to the campaign before it does anything.
__attribute__((constructor)) void announce() { FaultPlan::here(); }

std::string path_at(int folder, const char* name) {
  if (name[0] == '/' || folder == AT_FDCWD) return name;
  return path_of(folder) + "/" + name;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

int open_file(int folder, const char* name, int flags, mode_t mode) {
  static auto* const real = next<int(int, const char*, int, ...)>("openat");
  const auto open = [&] { return real(folder, name, flags, mode); };
  if ((flags & O_ACCMODE) == O_RDONLY) return open();
  return call_at("open", path_at(folder, name), open);
}

}  // namespace

extern "C" {

int open(const char* name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return open_file(AT_FDCWD, name, flags, mode);
}
int open64(const char* name, int flags, ...) __attribute__((alias("open")));

int openat(int folder, const char* name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return open_file(folder, name, flags, mode);
}
int openat64(int folder, const char* name, int flags, ...) __attribute__((alias("openat")));

ssize_t write(int file, const void* from, std::size_t size) {
  static auto* const real = next<ssize_t(int, const void*, std::size_t)>("write");
  return write_at(file, from, size,
                  [&](const void* bytes, std::size_t left) { return real(file, bytes, left); });
}

ssize_t pwrite(int file, const void* from, std::size_t size, off_t offset) {
  static auto* const real = next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
  return write_at(file, from, size, [&](const void* bytes, std::size_t left) {
    return real(file, bytes, left, offset);
  });
}
ssize_t pwrite64(int file, const void* from, std::size_t size, off_t offset)
    __attribute__((alias("pwrite")));

// Writes one buffer at a time, so that the caller has to continue a short write.
ssize_t writev(int file, const iovec* parts, int count) {
  static auto* const real = next<ssize_t(int, const iovec*, int)>("writev");
  if (count < 1 || !FaultPlan::here().is_about(path_of(file))) return real(file, parts, count);
  return write(file, parts->iov_base, parts->iov_len);
}

int fsync(int file) {
  static auto* const real = next<int(int)>("fsync");
  return call_at("sync", path_of(file), [&] { return real(file); });
}

int fdatasync(int file) {
  static auto* const real = next<int(int)>("fdatasync");
  return call_at("sync", path_of(file), [&] { return real(file); });
}

int close(int file) {
  static auto* const real = next<int(int)>("close");
  // A descriptor is closed even if close() reports an error.
  const std::string path = path_of(file);
  const bool reads = (::fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY;
  if (reads || !FaultPlan::here().is_about(path)) return real(file);
  const FileFault* const fault = FaultPlan::here().next("close", path);
  const int result = real(file);
  return fault == nullptr ? result : perform(fault, [&] { return result; });
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  static auto* const real = next<int(int, const char*, int, const char*, unsigned)>("renameat2");
  return call_at("rename", path_at(to_folder, to),
                 [&] { return real(from_folder, from, to_folder, to, flags); });
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  return renameat2(from_folder, from, to_folder, to, 0);
}

int rename(const char* from, const char* to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  static auto* const real = next<int(int, const char*, int, const char*, int)>("linkat");
  return call_at("rename", path_at(to_folder, to),
                 [&] { return real(from_folder, from, to_folder, to, flags); });
}

int link(const char* from, const char* to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int folder, const char* name, int flags) {
  static auto* const real = next<int(int, const char*, int)>("unlinkat");
  return call_at("unlink", path_at(folder, name), [&] { return real(folder, name, flags); });
}

int unlink(const char* name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char* name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }

int remove(const char* name) {
  const int result = unlinkat(AT_FDCWD, name, 0);
  return result != 0 && errno == EISDIR ? unlinkat(AT_FDCWD, name, AT_REMOVEDIR) : result;
}

int mkdirat(int folder, const char* name, mode_t mode) {
  static auto* const real = next<int(int, const char*, mode_t)>("mkdirat");
  return call_at("mkdir", path_at(folder, name), [&] { return real(folder, name, mode); });
}

int mkdir(const char* name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

int ftruncate(int file, off_t size) {
  static auto* const real = next<int(int, off_t)>("ftruncate");
  return call_at("truncate", path_of(file), [&] { return real(file, size); });
}
int ftruncate64(int file, off_t size) __attribute__((alias("ftruncate")));

// Returns the error number, as posix_fallocate does.
int posix_fallocate(int file, off_t offset, off_t size) {
  static auto* const real = next<int(int, off_t, off_t)>("posix_fallocate");
  const int result = call_at("truncate", path_of(file), [&] { return real(file, offset, size); });
  return result < 0 ? errno : result;
}
int posix_fallocate64(int file, off_t offset, off_t size) __attribute__((alias("posix_fallocate")));

int fallocate(int file, int mode, off_t offset, off_t size) {
  static auto* const real = next<int(int, int, off_t, off_t)>("fallocate");
  return call_at("truncate", path_of(file), [&] { return real(file, mode, offset, size); });
}
int fallocate64(int file, int mode, off_t offset, off_t size) __attribute__((alias("fallocate")));

}  // extern "C"
