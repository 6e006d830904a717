// Tests of ExecOutput: nodes send within their credit while nobody reads, and nothing is lost.
#include "launcher/exec/exec_output.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <asio/executor_work_guard.hpp>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/logs/flow_control.h"

namespace {

using namespace ds::launcher;
using ds::launcher::exec::ExecOutput;

/// An ExecOutput that writes to a pipe, and the credit that each node has left.
struct OutputBed {
  explicit OutputBed(int nodes, bool prefixed = true, bool whole_lines = false)
      : credit(static_cast<std::size_t>(nodes)) {
    int made[2];
    REQUIRE(::pipe(made) == 0);
    read_end.reset(made[0]);
    write_end.reset(made[1]);
    for (int node = 0; node < nodes; ++node) names.push_back("n" + std::to_string(node));
    output.emplace(io,
                   exec::ExecOutputSetup{.prefixed = prefixed,
                                         .whole_lines = whole_lines,
                                         .out_fd = write_end.get(),
                                         .err_fd = write_end.get()},
                   names,
                   ExecOutput::Events{.on_credit =
                                          [this](int node, const Credit& grant) {
                                            credit[static_cast<std::size_t>(node)] += grant.bytes;
                                          },
                                      .on_closed = [](const std::string&) {},
                                      .on_written = [this] { io.stop(); }});
    for (int node = 0; node < nodes; ++node) output->prepared(node);
  }
  /// Without finish() the queue's thread may still write: the number of its descriptor must not be
  /// given to the pipe of the next test.
  ~OutputBed() { (void)write_end.release(); }
  OutputBed(const OutputBed&) = delete;
  OutputBed& operator=(const OutputBed&) = delete;
  /// Every node sends `text` for as long as it has credit; returns how often that was, at most
  /// `most` times.
  std::size_t send(std::string_view text, std::size_t most) {
    const std::uint64_t cost = kOutputHeaderBytes + text.size();
    std::size_t frames = 0;
    for (bool some = true; some && frames < most;) {
      some = false;
      for (std::size_t node = 0; node < credit.size(); ++node) {
        if (credit[node] < cost) continue;
        credit[node] -= cost;
        some = true;
        ++frames;
        const auto rank = static_cast<std::int32_t>(node);
        output->take(rank, {.rank = rank, .bytes = std::as_bytes(std::span(text))}, text.size());
      }
    }
    return frames;
  }
  /// Ends the output, and returns all that was written.
  std::string finish() {
    output->finish("", {});
    std::string seen;
    std::thread reader([&] {
      char buffer[65536];
      for (ssize_t count = 0; (count = ::read(read_end.get(), buffer, sizeof buffer)) > 0;)
        seen.append(buffer, static_cast<std::size_t>(count));
    });
    const auto work = asio::make_work_guard(io);
    io.run();
    write_end.reset();
    reader.join();
    return seen;
  }

  asio::io_context io{1};
  ds::UniqueFd read_end, write_end;
  std::vector<std::string> names;
  std::vector<std::uint64_t> credit;
  std::optional<ExecOutput> output;
};

std::string many_lines(int count) {
  std::string text;
  for (int line = 0; line < count; ++line) text += "abcd\n";
  return text;
}

}  // namespace

TEST_CASE("nodes run out of credit while nobody reads, and nothing that came is lost") {
  OutputBed exec(16);
  const std::string text = many_lines(4000);
  const std::size_t frames = exec.send(text, 10'000);
  CHECK(frames * text.size() < 4 * CreditBook::kTotal);
  CHECK(exec.output->still_busy());
  CHECK(exec.finish().size() == frames * 4000 * std::string("n0: abcd\n").size() +
                                    frames / 16 * 6 * 4000);  // n10 to n15 are longer by 1
}

TEST_CASE("nodes have credit again once nobody waits for the reader") {
  OutputBed exec(2);
  const std::string text = many_lines(4000);
  exec.send(text, 10'000);
  CHECK(exec.output->still_busy());
  exec.output->leave_slow_reader();
  exec.io.run();
  CHECK_FALSE(exec.output->still_busy());
  CHECK(exec.send(text, 10'000) >= 10'000);
}

TEST_CASE("output that someone else takes is granted as it comes") {
  OutputBed exec(2);
  const std::string text = many_lines(1000);
  for (int frame = 0; frame < 10'000; ++frame) {
    REQUIRE(exec.credit[1] >= kOutputHeaderBytes + text.size());
    exec.credit[1] -= kOutputHeaderBytes + text.size();
    exec.output->grant_for(1, {.rank = 1, .bytes = std::as_bytes(std::span(text))}, text.size());
  }
}

TEST_CASE("the bytes of one node without a prefix are unchanged") {
  OutputBed exec(1, false);
  const std::string text("a\0b\rc\nno newline", 17);
  exec.send(text, 1);
  CHECK(exec.finish() == text);
}

TEST_CASE("lines of several nodes without prefixes are kept apart") {
  OutputBed exec(2, false);
  exec.send("a", 2);
  CHECK(exec.finish() == "a\na\n");
}

TEST_CASE("whole lines: a node's unfinished line is shown at its end, before the text about it") {
  OutputBed exec(2, true, true);
  exec.send("a\rb\nlast", 2);
  exec.output->put(2, "of pdsh\n");
  exec.output->end_node(1, "n1 has ended\n");
  exec.output->end_node(0, "");
  CHECK(exec.finish() == "n0: a\rb\nn1: a\rb\nof pdsh\nn1: lastn1 has ended\nn0: last");
}

TEST_CASE("whole lines: nothing is lost while nobody reads") {
  OutputBed exec(2, true, true);
  const std::string text = many_lines(4000);
  const std::size_t frames = exec.send(text, 10'000);
  CHECK(exec.output->still_busy());
  for (const int node : {0, 1}) exec.output->end_node(node, "");
  CHECK(exec.finish().size() == frames * 4000 * std::string("n0: abcd\n").size());
}
