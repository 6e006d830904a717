// Library for LD_PRELOAD: makes pread and pwrite of nameless files fail, as DS_IO_FAULT says.
// Faults start with the N-th call; with DS_IO_FAULT_WHEN not before that path exists. Calls on
// other files are unchanged.
//   short:N     a third of the bytes is moved       eintr:N   every second call is interrupted
//   error:N:E   errno E                             hang:N    never returns
//   no_tmpfile  no file system has O_TMPFILE; pread and pwrite are unchanged
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

struct Fault {
  std::string_view kind;
  int from = 0;
  int error = 0;
};

Fault read_fault() {
  const char* const text = std::getenv("DS_IO_FAULT");
  Fault fault;
  if (text == nullptr) return fault;
  const std::string_view all = text;
  fault.kind = all.substr(0, all.find(':'));
  std::sscanf(text + fault.kind.size(), ":%d:%d", &fault.from, &fault.error);
  return fault;
}

bool is_nameless(int file) {
  char path[32], target[512];
  std::snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
  const ssize_t size = ::readlink(path, target, sizeof(target));
  return size > 0 &&
         std::string_view(target, static_cast<std::size_t>(size)).ends_with("(deleted)");
}

/// Calls `real` with the part of `size` that the fault leaves.
template <typename Real>
ssize_t with_fault(Real real, int file, std::size_t size) {
  static const Fault fault = read_fault();
  static const char* const when = std::getenv("DS_IO_FAULT_WHEN");
  static std::atomic<int> calls{0};
  const bool ours =
      size > 4096 && is_nameless(file) && (when == nullptr || ::access(when, F_OK) == 0);
  const int call = ours ? ++calls : 0;
  if (!ours || fault.kind.empty() || call < fault.from) return real(size);
  if (fault.kind == "short") return real(size / 3 / 4096 * 4096 + 4096);
  if (fault.kind == "eintr" && call % 2 == 1) {
    errno = EINTR;
    return -1;
  }
  if (fault.kind == "error") {
    errno = fault.error;
    return -1;
  }
  while (fault.kind == "hang") ::pause();
  return real(size);
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" ssize_t pread(int file, void* into, std::size_t size, off_t offset) {
  static auto* const real = next<ssize_t(int, void*, std::size_t, off_t)>("pread");
  return with_fault([&](std::size_t left) { return real(file, into, left, offset); }, file, size);
}

extern "C" ssize_t pwrite(int file, const void* from, std::size_t size, off_t offset) {
  static auto* const real = next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
  return with_fault([&](std::size_t left) { return real(file, from, left, offset); }, file, size);
}

extern "C" int open(const char* path, int flags, ...) {
  static auto* const real = next<int(const char*, int, ...)>("open");
  static const bool lacks_tmpfile = read_fault().kind == "no_tmpfile";
  std::va_list rest;
  va_start(rest, flags);
  const bool has_mode = (flags & (O_CREAT | O_TMPFILE)) != 0;
  const mode_t mode = has_mode ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (lacks_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return real(path, flags, mode);
}
