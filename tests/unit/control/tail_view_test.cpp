// Tests of the view of `tail` and `attach`: last kept lines with prefixes, then new output.
#include <doctest/doctest.h>

#include <string>

#include "launcher/control/job_output.h"

using namespace ds::launcher;

namespace {

struct Screen {
  OutputBuffer out, err;
  RelayOutput to() { return {out, err}; }
  std::string taken() {
    std::string text(out.view());
    if (!err.empty()) text += "|" + std::string(err.view());
    out.clear();
    err.clear();
    return text;
  }
};

void say(TailView& view, Screen& screen, int rank, int stream, const std::string& text) {
  view.output({rank, static_cast<std::uint8_t>(stream), 0,
               rank < 0 ? "" : "[" + std::to_string(rank) + "] ", std::as_bytes(std::span(text))},
              screen.to());
}

}  // namespace

TEST_CASE("of what was kept only the last lines are shown") {
  for (const auto& [lines, shown] : {std::pair<std::size_t, std::string>{0, ""},
                                     {1, "[1] d\n"},
                                     {2, "[1] c\n[1] d\n"},
                                     {3, "[0] b\n[1] c\n[1] d\n"},
                                     {9, "[0] a\n[0] b\n[1] c\n[1] d\n"}}) {
    CAPTURE(lines);
    TailView view(2, lines, false);
    Screen screen;
    say(view, screen, 0, 1, "a\nb\n");
    say(view, screen, 1, 1, "c\nd\n");
    CHECK(screen.taken().empty());
    view.caught(screen.to());
    CHECK(screen.taken() == shown);
    say(view, screen, 0, 1, "e\n");
    CHECK(screen.taken() == "[0] e\n");
  }
}

TEST_CASE("streams stay apart, and count together") {
  TailView view(2, 2, false);
  Screen screen;
  say(view, screen, 0, 1, "old\n");
  say(view, screen, 0, 2, "warning\n");
  say(view, screen, 1, 1, "new\n");
  view.caught(screen.to());
  CHECK(screen.taken() == "[1] new\n|[0] warning\n");
}

TEST_CASE("a line without an end counts, and goes on") {
  TailView view(2, 1, true);
  Screen screen;
  const std::string text = "a\n50 %";
  view.output({0, 1, 1, "[0] ", std::as_bytes(std::span(text))}, screen.to());
  view.caught(screen.to());
  CHECK(screen.taken() == "[0] 50 %");
  say(view, screen, 0, 1, " done\n");
  CHECK(screen.taken() == " done\n");
}

TEST_CASE("lines of the launcher are shown as it says them; a gap is told, but not an old one") {
  TailView view(2, 5, false);
  Screen screen;
  say(view, screen, -1, 2, "dslaunch: waiting");
  view.skipped({4096}, screen.to());
  view.caught(screen.to());
  CHECK(screen.taken() == "|dslaunch: waiting\n");
  view.skipped({std::uint64_t{3} << 20}, screen.to());
  CHECK(screen.taken().starts_with("|dslaunch: 3.0 MiB of output skipped"));
}

TEST_CASE("pieces of ranks that do not exist are ignored") {
  TailView view(2, 5, false);
  Screen screen;
  view.caught(screen.to());
  say(view, screen, 2, 1, "x\n");
  say(view, screen, -2, 1, "x\n");
  say(view, screen, 0, 3, "x\n");
  view.finish(screen.to());
  CHECK(screen.taken().empty());
}
