// Tests of Ladder: each refusal of the kernel leads to the next step, is reported, and moves the
// same bytes.
#include "engine/storage/ladder.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "engine/base/error.h"
#include "unit/storage/tile_helpers.h"

using namespace ds;
using namespace ds::test;

namespace {

int refuse_setup(unsigned, io_uring_params*) {
  errno = EPERM;
  return -1;
}

int refuse_enter(int, unsigned, unsigned, unsigned, const void*, std::size_t) {
  errno = ENOSYS;
  return -1;
}

/// Refuses registered buffers, as with a small limit of locked memory.
int refuse_buffers(int ring, unsigned what, const void* argument, unsigned count) {
  if (what != IORING_REGISTER_BUFFERS) {
    return kernel_uring_calls().enroll(ring, what, argument, count);
  }
  errno = ENOMEM;
  return -1;
}

/// Refuses the second ring's buffers, as if the first ring had used up the limit.
int refuse_second_buffers(int ring, unsigned what, const void* argument, unsigned count) {
  thread_local int calls = 0;
  if (what == IORING_REGISTER_BUFFERS && ++calls % 2 == 0) {
    return refuse_buffers(ring, what, argument, count);
  }
  return kernel_uring_calls().enroll(ring, what, argument, count);
}

int refuse_files(int ring, unsigned what, const void* argument, unsigned count) {
  if (what != IORING_REGISTER_FILES) {
    return kernel_uring_calls().enroll(ring, what, argument, count);
  }
  errno = EMFILE;
  return -1;
}

int old_kernel(unsigned entries, io_uring_params* params) {
  const int ring = kernel_uring_calls().setup(entries, params);
  params->features &= ~IORING_FEAT_EXT_ARG;
  return ring;
}

/// Delays all but every third call of a kind.
int shaky_enter(int ring, unsigned submit, unsigned complete, unsigned flags, const void* argument,
                std::size_t size) {
  thread_local int calls = 0;
  switch (++calls % 3) {
    case 0:
      return kernel_uring_calls().enter(ring, submit, complete, flags, argument, size);
    case 1:
      errno = EINTR;
      return -1;
    default:
      errno = EAGAIN;
      return -1;
  }
}

bool starved = false;

/// While `starved`, the kernel never has memory to accept an order.
int starving_enter(int ring, unsigned submit, unsigned complete, unsigned flags,
                   const void* argument, std::size_t size) {
  if (!starved) {
    return kernel_uring_calls().enter(ring, submit, complete, flags, argument, size);
  }
  errno = EAGAIN;
  return -1;
}

/// Limits file sizes within a scope; exceeding the limit is an error, not a signal.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) : before_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &old_) == 0);
    const struct rlimit now = {.rlim_cur = bytes, .rlim_max = old_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &now) == 0);
  }
  SizeLimit(const SizeLimit&) = delete;
  SizeLimit& operator=(const SizeLimit&) = delete;
  ~SizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, before_);
  }

 private:
  void (*before_)(int);
  struct rlimit old_ {};
};

struct Step {
  const char* name;
  UringCalls calls;
  const char* says;  // beginning of the description after memory was offered
};

/// Returns all steps that this machine has; the lower ones work everywhere.
const std::vector<Step>& steps() {
  static const std::vector<Step> all = [] {
    const UringCalls real = kernel_uring_calls();
    std::vector<Step> result = {
        {"setup forbidden",
         {refuse_setup, real.enter, real.enroll},
         "threads with pread and pwrite (io_uring is not available: Operation not permitted); "}};
    io_uring_params params{};
    if (!UniqueFd(real.setup(4, &params))) {
      MESSAGE("skipped: the io_uring steps, which this machine forbids");
      return result;
    }
    result.insert(
        result.end(),
        {{"registered", real, "io_uring with registered buffers; "},
         {"files not registered",
          {real.setup, real.enter, refuse_files},
          "io_uring with registered buffers; "},
         {"put off", {real.setup, shaky_enter, real.enroll}, "io_uring with registered buffers; "},
         {"plain",
          {real.setup, real.enter, refuse_buffers},
          "io_uring without registered buffers (Cannot allocate memory, see ulimit -l); "},
         {"half plain",
          {real.setup, real.enter, refuse_second_buffers},
          "io_uring without registered buffers (Cannot allocate memory, see ulimit -l); "},
         {"enter forbidden",
          {real.setup, refuse_enter, real.enroll},
          "threads with pread and pwrite (io_uring fails: io_uring_enter: Function not "
          "implemented); "},
         {"old kernel",
          {old_kernel, real.enter, real.enroll},
          "threads with pread and pwrite (io_uring is not available: Function not "
          "implemented); "}});
    return result;
  }();
  return all;
}

std::unique_ptr<TileFiles> open_on(const Step& step, TileFilesSpec spec) {
  spec.engine = TileEngine::automatic;
  return open_tile_files(spec, step.calls);
}

}  // namespace

TEST_CASE("tiles read back as written, from one folder and from three, on every step") {
  const Folder a, b, c;
  for (const Step& step : steps())
    for (const auto& folders : {std::vector{a.path()}, std::vector{a.path(), b.path(), c.path()}}) {
      CAPTURE(step.name);
      const auto files = open_on(step, spec_in(folders, 4 * kMiB + 4096));
      Memory out(4 * kMiB + 4096), in(4 * kMiB + 4096);
      files->register_memory(out.all());
      files->register_memory(in.part(0, kMiB));  // a piece may span both kinds of memory
      CHECK(has(files->description(), step.says));
      out.fill(1);
      files->write(0, out.all());
      files->read(0, in.all());
      CHECK(same(out.all(), in.all()));
      out.fill(2);
      files->write(kMiB + 4096, out.part(kMiB + 4096, 300 * 4096));
      files->read(kMiB + 4096, in.part(kMiB + 4096, 300 * 4096));
      CHECK(same(out.part(kMiB + 4096, 300 * 4096), in.part(kMiB + 4096, 300 * 4096)));
      files->read(kMiB, in.part(kMiB, 4096));  // part of a tile
      CHECK_FALSE(same(out.part(kMiB, 4096), in.part(kMiB, 4096)));
    }
}

TEST_CASE("one thread reads while another writes") {
  for (const Step& step : steps()) {
    CAPTURE(step.name);
    const Folder folder;
    const auto files = open_on(step, spec_in({folder.path()}, 8 * kMiB));
    Memory first(4 * kMiB), second(4 * kMiB), in(4 * kMiB);
    first.fill(1);
    second.fill(2);
    files->write(0, first.all());
    std::thread writer([&] {
      for (int i = 0; i < 8; ++i) files->write(4 * kMiB, second.all());
    });
    for (int i = 0; i < 8; ++i) files->read(0, in.all());
    writer.join();
    CHECK(same(first.all(), in.all()));
    files->read(4 * kMiB, in.all());
    CHECK(same(second.all(), in.all()));
  }
}

TEST_CASE("a wrong byte is detected on every step") {
  for (const Step& step : steps()) {
    CAPTURE(step.name);
    const Folder folder;
    const auto files = open_on(step, spec_in({folder.path()}, kMiB));
    Memory memory(kMiB);
    files->register_memory(memory.all());
    memory.fill(1);
    files->write(0, memory.all());
    flip_byte(folder.path(), 99'999);
    CHECK_THROWS_WITH(files->read(0, memory.all()), doctest::Contains("checksum mismatch"));
  }
}

TEST_CASE("a file that shrinks is an error on every step") {
  for (const Step& step : steps()) {
    CAPTURE(step.name);
    const Folder folder;
    const auto files = open_on(step, spec_in({folder.path()}, kMiB));
    Memory memory(kMiB);
    REQUIRE(::truncate(file_in(folder.path()).c_str(), 100 * 4096) == 0);
    CHECK_THROWS_WITH(files->read(0, memory.all()), doctest::Contains("the file ends here"));
  }
}

TEST_CASE("a system error is reported on every step, and the next transfer works") {
  for (const Step& step : steps()) {
    CAPTURE(step.name);
    const Folder folder;
    const auto files = open_on(step, spec_in({folder.path()}, kMiB));
    Memory memory(kMiB);
    files->register_memory(memory.all());
    {
      const SizeLimit limit(10 * 65'536);
      CHECK_THROWS_WITH(files->write(0, memory.all()),
                        doctest::Contains("file (rank 0, test) at byte"));
    }
    files->write(0, memory.all());
    files->read(0, memory.all());
  }
}

TEST_CASE("an io_uring that accepts no orders times out after the patience") {
  if (steps().size() == 1) return;  // reported above
  const Folder folder;
  TileFilesSpec spec = spec_in({folder.path()}, kMiB);
  spec.engine = TileEngine::uring;
  spec.patience = std::chrono::milliseconds(300);
  const UringCalls real = kernel_uring_calls();
  const auto files = open_tile_files(spec, {real.setup, starving_enter, real.enroll});
  Memory memory(kMiB);
  files->write(0, memory.all());
  starved = true;
  CHECK_THROWS_WITH(files->read(0, memory.all()), doctest::Contains("no response for 0.3 s"));
  starved = false;
}

TEST_CASE("the configured engine is used") {
  const Folder folder;
  TileFilesSpec spec = spec_in({folder.path()}, kMiB);
  CHECK(has(TileFiles::open(spec)->description(), "threads with pread and pwrite, as configured"));
  spec.engine = TileEngine::uring;
  const UringCalls forbidden{refuse_setup, refuse_enter, refuse_files};
  try {
    open_tile_files(spec, forbidden);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    CHECK(has(error.for_people(),
              "io_uring is not available: Operation not permitted\n  hint: allow it"));
  }
}
