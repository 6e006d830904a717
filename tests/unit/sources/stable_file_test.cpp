// Tests of reading a file that is rewritten meanwhile, with a simulated clock.
#include "launcher/sources/world.h"

#include <doctest/doctest.h>

#include <vector>

using namespace ds::launcher;

namespace {

/// Returns one text after the other; the last one repeats.
struct Script {
  std::vector<FileText> texts;
  std::size_t reads = 0;
  std::chrono::milliseconds slept{0};
  FileText run() {
    return read_when_stable([this] { return texts[std::min(reads++, texts.size() - 1)]; },
                            [this](std::chrono::milliseconds time) { slept += time; });
  }
};

FileText text(const char* value) { return {.text = value}; }

}  // namespace

TEST_CASE("a file that holds still is read twice, 200 ms apart") {
  Script file{{text("a:1\n")}};
  CHECK(file.run().text == "a:1\n");
  CHECK(file.reads == 2);
  CHECK(file.slept == kStableFor);
}

TEST_CASE("a file that is truncated, then half written, is awaited") {
  Script file{{text(""), text(""), text("a:1\nb"), text("a:1\nb:1\n")}};
  CHECK(file.run().text == "a:1\nb:1\n");
  CHECK(file.reads == 5);
}

TEST_CASE("what cannot be read is told at once, also when it goes away meanwhile") {
  Script missing{{{.text = {}, .problem = "No such file or directory", .missing = true}}};
  CHECK(missing.run().missing);
  CHECK(missing.slept.count() == 0);
  Script gone{{text("a:1\n"), {.text = {}, .problem = "Permission denied"}}};
  CHECK(gone.run().problem == "Permission denied");
}

TEST_CASE("a file that never holds still, or stays empty, ends the wait after 10 s") {
  Script empty{{text("")}};
  CHECK(empty.run().text == "");
  CHECK(empty.slept == kStableLimit);
  Script restless{{}};
  for (int i = 0; i < 100; ++i) restless.texts.push_back(text(i % 2 == 0 ? "a:1\n" : "b:1\n"));
  const FileText seen = restless.run();
  CHECK_FALSE(seen.text);
  CHECK(seen.problem.find("was being rewritten") != std::string::npos);
}
