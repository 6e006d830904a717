// Tests which program is found behind commands that only start it.
#include "launcher/commands/start/wrapped_program.h"

#include <doctest/doctest.h>

#include "engine/base/split.h"

namespace {

std::string program_of(std::string_view line) {
  std::vector<std::string> words;
  for (const std::string_view word : ds::split(line, ' ')) words.emplace_back(word);
  return ds::launcher::wrapped_command(std::move(words)).front();
}

}  // namespace

TEST_CASE("a program behind commands that only start it") {
  for (const char* line :
       {"./a -n 1", "env ./a", "/usr/bin/env -u X Y=/b/c=d ./a", "nice ./a", "nice -n 5 ./a",
        "nice -5 ./a", "taskset -c 0-3 ./a", "numactl -N 0 --membind=0 ./a",
        "numactl --membind 0 -l ./a", "stdbuf -oL ./a", "stdbuf -o L -- ./a", "time -f %e ./a",
        "timeout -k 5 10 ./a", "chrt -f 10 ./a", "strace -f -o x -e trace=file ./a", "nohup setsid ./a", "env X=1 nice taskset 3 timeout 9 ./a b"}) {
    CAPTURE(line);
    CHECK(program_of(line) == "./a");
  }
}

TEST_CASE("the words of the program are kept") {
  CHECK(ds::launcher::wrapped_command({"nice", "sh", "-c", "X=1 ./a b c"}) ==
        std::vector<std::string>{"./a", "b", "c"});
}

TEST_CASE("a shell that only starts a program") {
  const auto program = [](std::vector<std::string> argv) {
    return ds::launcher::wrapped_command(std::move(argv)).front();
  };
  CHECK(program({"sh", "-c", "exec ./a \"$RANK\""}) == "./a");
  CHECK(program({"/bin/bash", "-c", "  X=1 nice ./a"}) == "./a");
  CHECK(program({"sh", "-c", "cd /tmp && ./a"}) == "sh");
  CHECK(program({"sh", "-c", "./a; ./b"}) == "sh");
  CHECK(program({"sh", "-c", ""}) == "sh");
  CHECK(program({"sh", "script.sh"}) == "sh");
  CHECK(program({"sh"}) == "sh");
  CHECK(program({"env"}) == "env");
  CHECK(program({"env", "X=1"}) == "env");
  CHECK(program({"nice", "-n"}) == "nice");
  CHECK(program(std::vector<std::string>(20, "nohup")) == "nohup");
}
