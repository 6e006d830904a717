// Tests RankInput: partial writes, end of file, and readers that have closed.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "launcher/agent/rank_set.h"

namespace {

using namespace ds::launcher;

std::string read_some(int fd, std::size_t most) {
  std::string text(most, '\0');
  const ssize_t got = ::read(fd, text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

void add(RankInput& input, std::string_view text, bool last = false) {
  input.add(std::as_bytes(std::span(text)), last);
}

}  // namespace

TEST_CASE("a rank without standard input has none") {
  const RankInput input;
  CHECK_FALSE(input.exists());
  CHECK(input.waits_for() == -1);
}

TEST_CASE("bytes, then the end of the file") {
  RankPipe pipe = make_input_pipe();
  RankInput input(std::move(pipe.ours));
  add(input, "one\n");
  add(input, "two", true);
  CHECK(input.taken() == 7);
  CHECK(input.waits_for() == -1);
  CHECK(read_some(pipe.theirs.get(), 100) == "one\ntwo");
  CHECK(read_some(pipe.theirs.get(), 100).empty());
}

TEST_CASE("what the pipe does not take waits, and the end of the file behind it") {
  RankPipe pipe = make_input_pipe();
  RankInput input(std::move(pipe.ours));
  const std::string text(300000, 'x');
  add(input, text, true);
  CHECK(input.taken() < text.size());
  CHECK(input.waits_for() >= 0);
  std::string seen;
  while (seen.size() < text.size()) {
    seen += read_some(pipe.theirs.get(), 50000);
    input.write_some();
  }
  CHECK(seen == text);
  CHECK(input.taken() == text.size());
  CHECK(read_some(pipe.theirs.get(), 1).empty());
}

TEST_CASE("a rank that has closed its standard input takes everything") {
  ::signal(SIGPIPE, SIG_IGN);
  RankPipe pipe = make_input_pipe();
  RankInput input(std::move(pipe.ours));
  pipe.theirs.reset();
  add(input, "lost");
  add(input, "too");
  CHECK(input.taken() == 7);
  CHECK(input.waits_for() == -1);
}
