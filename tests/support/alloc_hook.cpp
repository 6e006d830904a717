// Library for LD_PRELOAD: counts a rank's heap bytes by training step and names the callers.
//
// Steps are seen from outside: the write(2) of a metrics.jsonl line ends one. Its number goes to a
// page of memory that all ranks of the test map (DS_ALLOC_PAGE), as only rank 0 writes metrics. At
// exit each rank writes DS_ALLOC_REPORT.RANK:
//   step N live BYTES count N largest BYTES    after the line of step N, until that of N + 1
//   site count N bytes N largest N from OBJECT+0xOFFSET ...    in the steps FIRST + 1 to LAST
// where the objects are the calling functions' outside the C and C++ runtimes, innermost first.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* memory);
}

namespace {

constexpr int kSteps = 64;
constexpr int kDepth = 24;
constexpr std::size_t kSites = 1024;

struct StepCount {
  std::atomic<std::int64_t> live{0}, count{0}, largest{0};
};

// Static libraries share this object, so a name needs more than the innermost frame.
using Frames = std::array<void*, 6>;

struct Site {
  Frames frames{};
  std::int64_t count = 0, bytes = 0, largest = 0;
};

// Static memory only: the hook itself must not allocate.
std::array<StepCount, kSteps> steps;
std::array<Site, kSites> sites;
std::atomic_flag sites_lock = ATOMIC_FLAG_INIT;
std::atomic<std::int64_t> live{0};
std::atomic<int> own_page{0};
std::atomic<int>* page = &own_page;
std::atomic<int> recorded_step{0};
int first_step = 2, last_step = 20;
bool ready = false;
thread_local bool inside = false;

int current_step() {
  const int step = page->load(std::memory_order_relaxed);
  return step < kSteps ? step : kSteps - 1;
}

bool is_runtime(std::string_view object) {
  for (const char* name :
       {"liballoc_hook", "libc.so", "libstdc++", "libfmt", "libgcc_s", "ld-linux"}) {
    if (object.find(name) != std::string_view::npos) return true;
  }
  return false;
}

/// Returns the return addresses outside the runtimes, innermost first.
Frames callers() {
  std::array<void*, kDepth> stack{};
  Frames found{};
  std::size_t used = 0;
  const int depth = backtrace(stack.data(), kDepth);
  for (int i = 0; i < depth && used < found.size(); ++i) {
    // Not dladdr(3), which goes through all symbols of a program for each frame.
    dl_find_object object{};
    void* const frame = stack.at(static_cast<std::size_t>(i));
    if (_dl_find_object(frame, &object) != 0) continue;
    if (!is_runtime(object.dlfo_link_map->l_name)) found.at(used++) = frame;
  }
  return found;
}

void note_site(std::int64_t bytes) {
  const Frames frames = callers();
  while (sites_lock.test_and_set(std::memory_order_acquire)) {
  }
  for (Site& site : sites) {
    if (site.count != 0 && site.frames != frames) continue;
    site.frames = frames;
    ++site.count;
    site.bytes += bytes;
    if (bytes > site.largest) site.largest = bytes;
    break;
  }
  sites_lock.clear(std::memory_order_release);
}

// Nothing happened between the steps that were not recorded: they ended with the same bytes.
void catch_up(int step) {
  int seen = recorded_step.load(std::memory_order_relaxed);
  while (seen < step && recorded_step.compare_exchange_weak(seen, step)) {
    for (int i = seen + 1; i <= step; ++i) steps.at(static_cast<std::size_t>(i)).live = live.load();
  }
}

void note_allocation(std::int64_t bytes) {
  if (!ready || inside) return;
  inside = true;
  const int saved = errno;
  const int step = current_step();
  StepCount& now = steps.at(static_cast<std::size_t>(step));
  now.count.fetch_add(1, std::memory_order_relaxed);
  std::int64_t largest = now.largest.load();
  while (bytes > largest && !now.largest.compare_exchange_weak(largest, bytes)) {
  }
  if (step >= first_step && step < last_step) note_site(bytes);
  errno = saved;
  inside = false;
}

void* gained(void* memory, std::size_t bytes) {
  if (memory == nullptr) return nullptr;
  catch_up(current_step());
  live += static_cast<std::int64_t>(malloc_usable_size(memory));
  note_allocation(static_cast<std::int64_t>(bytes));
  return memory;
}

void lost(void* memory) {
  if (memory == nullptr) return;
  catch_up(current_step());
  live -= static_cast<std::int64_t>(malloc_usable_size(memory));
}

void see_line(const void* data, std::size_t bytes) {
  constexpr std::string_view kStart = "{\"step\":", kLoss = ",\"loss\":";
  const std::string_view line(static_cast<const char*>(data), bytes);
  if (line.substr(0, kStart.size()) != kStart) return;
  int step = 0;
  std::size_t at = kStart.size();
  for (; at < line.size() && line[at] >= '0' && line[at] <= '9'; ++at)
    step = step * 10 + line[at] - '0';
  if (line.substr(at, kLoss.size()) != kLoss || step >= kSteps) return;
  page->store(step);
  catch_up(step);
}

int number(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

__attribute__((constructor)) void start() {
  std::array<void*, 4> frames{};
  backtrace(frames.data(), 4);  // Its first call loads a library.
  first_step = number("DS_ALLOC_FIRST", first_step);
  last_step = number("DS_ALLOC_LAST", last_step);
  if (const char* const path = std::getenv("DS_ALLOC_PAGE")) {
    const int file = open(path, O_RDWR | O_CLOEXEC);
    void* const shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared != MAP_FAILED) page = static_cast<std::atomic<int>*>(shared);
    close(file);
  }
  ready = std::getenv("DS_ALLOC_REPORT") != nullptr;
}

void write_site(std::FILE* file, const Site& site) {
  std::fprintf(file, "site count %jd bytes %jd largest %jd from",
               static_cast<std::intmax_t>(site.count), static_cast<std::intmax_t>(site.bytes),
               static_cast<std::intmax_t>(site.largest));
  for (void* const frame : site.frames) {
    Dl_info info{};
    if (frame == nullptr || dladdr(frame, &info) == 0) break;
    // One byte back: the call itself, not what follows it.
    const auto offset = static_cast<char*>(frame) - static_cast<char*>(info.dli_fbase) - 1;
    std::fprintf(file, " %s+0x%zx", info.dli_fname, static_cast<std::size_t>(offset));
  }
  std::fprintf(file, "\n");
}

__attribute__((destructor)) void report() {
  if (!ready) return;
  ready = false;
  catch_up(current_step());
  const char* const rank = std::getenv("RANK");
  std::array<char, 4096> path{};
  std::snprintf(path.data(), path.size(), "%s.%s", std::getenv("DS_ALLOC_REPORT"),
                rank == nullptr ? "0" : rank);
  std::FILE* const file = std::fopen(path.data(), "w");
  if (file == nullptr) return;
  for (int i = 0; i <= current_step(); ++i) {
    const StepCount& step = steps.at(static_cast<std::size_t>(i));
    std::fprintf(file, "step %d live %jd count %jd largest %jd\n", i,
                 static_cast<std::intmax_t>(step.live), static_cast<std::intmax_t>(step.count),
                 static_cast<std::intmax_t>(step.largest));
  }
  for (const Site& site : sites) {
    if (site.count != 0) write_site(file, site);
  }
  std::fclose(file);
}

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) { return gained(__libc_malloc(bytes), bytes); }
void* calloc(std::size_t count, std::size_t bytes) {
  return gained(__libc_calloc(count, bytes), count * bytes);
}
void* realloc(void* old, std::size_t bytes) {
  lost(old);
  void* const memory = __libc_realloc(old, bytes);
  if (memory == nullptr && bytes != 0) gained(old, 0);
  return gained(memory, bytes);
}
void* reallocarray(void* old, std::size_t count, std::size_t bytes) {
  return realloc(old, count * bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  return gained(__libc_memalign(alignment, bytes), bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
void* valloc(std::size_t bytes) { return memalign(4096, bytes); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  *memory = memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  lost(memory);
  __libc_free(memory);
}

// Direct mappings count as allocations, though not as heap bytes: glibc's own do not pass here.
void* mmap(void* where, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  void* const memory =
      reinterpret_cast<void*>(syscall(SYS_mmap, where, bytes, protection, flags, file, offset));
  if (memory != MAP_FAILED && file < 0) note_allocation(static_cast<std::int64_t>(bytes));
  return memory;
}

ssize_t write(int file, const void* data, std::size_t bytes) {
  see_line(data, bytes);
  return syscall(SYS_write, file, data, bytes);
}

}  // extern "C"
