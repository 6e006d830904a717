// Tests of SaveTask with a thread, and without one when no thread can be created.
#include "engine/train/save_task.h"

#include <doctest/doctest.h>
#include <pthread.h>

#include <thread>

namespace {

ds::SaveOutcome of_bytes(std::int64_t bytes) { return {.bytes = bytes}; }

}  // namespace

TEST_CASE("a task runs until wait(), and another one may follow") {
  ds::SaveTask task;
  CHECK(!task.is_running());
  for (const std::int64_t bytes : {1, 2}) {
    task.start([bytes] { return of_bytes(bytes); });
    CHECK(task.is_running());
    CHECK(task.wait().bytes == bytes);
    CHECK(!task.is_running());
    CHECK(task.has_ended());
  }
}

TEST_CASE("without a thread start() does the work") {
  pthread_attr_t before;
  REQUIRE(::pthread_getattr_default_np(&before) == 0);
  pthread_attr_t huge = before;
  // No machine has this much memory for a thread's stack.
  REQUIRE(::pthread_attr_setstacksize(&huge, std::size_t{1} << 50U) == 0);
  REQUIRE(::pthread_setattr_default_np(&huge) == 0);
  ds::SaveTask task;
  std::thread::id place;
  task.start([&place] {
    place = std::this_thread::get_id();
    return of_bytes(3);
  });
  ::pthread_setattr_default_np(&before);
  CHECK(place == std::this_thread::get_id());
  CHECK(task.is_running());
  CHECK(task.wait().bytes == 3);
  CHECK(!task.is_running());
}
