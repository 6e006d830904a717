// Tests of OutputQueue: order, failed writing, and a reader that never reads.
#include "launcher/logs/output_queue.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <future>
#include <string>

#include "engine/base/unique_fd.h"

namespace {

using namespace ds::launcher;

struct Pipe {
  Pipe() {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  ds::UniqueFd read, write;
};

void push(OutputQueue& queue, int stream, const std::string& text) {
  OutputBuffer buffer;
  buffer.append(text);
  queue.push(stream, buffer);
  CHECK(buffer.empty());
}

}  // namespace

TEST_CASE("what is pushed comes out in order, also when both streams are one pipe") {
  Pipe pipe;
  std::promise<void> done;
  std::string expected;
  {
    OutputQueue queue(pipe.write.get(), pipe.write.get(), [] {});
    for (int i = 0; i < 200; ++i) {
      const std::string text = std::to_string(i) + "\n";
      push(queue, 1 + i % 2, text);
      expected += text;
    }
    std::string seen;
    char buffer[4096];
    while (seen.size() < expected.size()) {
      const ssize_t count = ::read(pipe.read.get(), buffer, sizeof buffer);
      REQUIRE(count > 0);
      seen.append(buffer, static_cast<std::size_t>(count));
    }
    CHECK(seen == expected);
  }
}

TEST_CASE("a reader that is gone breaks its stream only") {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe out, err;
  out.read.reset();
  std::promise<void> broke;
  bool told = false;
  OutputQueue queue(out.write.get(), err.write.get(), [&] {
    if (!std::exchange(told, true)) broke.set_value();
  });
  push(queue, 1, "x");
  broke.get_future().wait();
  CHECK(queue.broken(1) == EPIPE);
  CHECK(queue.broken(2) == 0);
}

TEST_CASE("a reader that never reads does not hold the end") {
  Pipe pipe;
  OutputQueue queue(pipe.write.get(), pipe.write.get(), [] {});
  push(queue, 1, std::string(std::size_t{4} << 20, 'x'));
  CHECK(queue.queued() > 0);  // the pipe takes 64 KiB; the destructor returns all the same
}
