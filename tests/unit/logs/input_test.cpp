// Tests of standard input: the window of the slowest agent, and a reader that reads what is
// allowed.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <tuple>

#include "engine/base/unique_fd.h"
#include "launcher/logs/input_reader.h"

namespace {

using namespace ds::launcher;

}  // namespace

TEST_CASE("the slowest agent decides how much may be sent") {
  InputWindow window;
  CHECK(window.room() == 0);
  window.start(std::vector<int>{3, 5});
  CHECK(window.room() == Stdin::kWindow);
  window.sent(Stdin::kWindow);
  CHECK(window.room() == 0);
  window.taken(3, 1000);
  CHECK(window.room() == 0);
  window.taken(5, 600);
  CHECK(window.room() == 600);
  window.taken(4, 1);
  window.taken(5, ~std::uint64_t{0});
  CHECK(window.room() == 1000);
  window.start(std::vector<int>{5});
  CHECK(window.room() == Stdin::kWindow);
}

TEST_CASE("a reader takes what it may, and tells the end") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ds::UniqueFd read(ends[0]), write(ends[1]);
  std::mutex mutex;
  std::condition_variable came;
  std::string text;
  bool ended = false;
  InputReader reader(read.get(), [&](std::vector<std::byte> bytes, bool last, int error) {
    CHECK(error == 0);
    const std::lock_guard lock(mutex);
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    ended = last;
    came.notify_all();
  });
  REQUIRE(::write(write.get(), "abcdef", 6) == 6);
  reader.allow(4);
  std::unique_lock lock(mutex);
  came.wait(lock, [&] { return text.size() >= 4; });
  CHECK(text == "abcd");
  lock.unlock();
  write.reset();
  reader.allow(100);
  lock.lock();
  came.wait(lock, [&] { return ended; });
  CHECK(text == "abcdef");
}

TEST_CASE("a read error is not the end of the input, but a descriptor without reading is") {
  for (const auto& [path, flags, expected] :
       {std::tuple{"/tmp", O_RDONLY, EISDIR}, std::tuple{"/dev/null", O_WRONLY, 0}}) {
    const ds::UniqueFd fd(::open(path, flags));
    REQUIRE(fd);
    std::promise<int> ended;
    InputReader reader(fd.get(), [&](const std::vector<std::byte>&, bool last, int error) {
      CHECK(last);
      ended.set_value(error);
    });
    reader.allow(1);
    CHECK(ended.get_future().get() == expected);
  }
}
