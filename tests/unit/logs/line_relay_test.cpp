// Tests of LineRelay: prefixes, unfinished lines, progress lines and long lines.
#include "launcher/logs/line_relay.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "launcher/logs/line_batcher.h"

namespace {

using namespace ds::launcher;

/// A relay whose two screens are one text each.
struct Screen {
  explicit Screen(int world_size, bool one_screen = false) : relay(world_size, one_screen) {}
  void out(int rank, std::string_view text, int flags = 0) { put(rank, 1, text, flags); }
  void err(int rank, std::string_view text, int flags = 0) { put(rank, 2, text, flags); }
  void put(int rank, int stream, std::string_view text, int flags) {
    relay.batch(rank, stream, static_cast<std::uint8_t>(flags), std::as_bytes(std::span(text)),
                {out_text, err_text});
  }
  void own(std::string_view line) { relay.own_line(line, {out_text, err_text}); }
  void finish() { relay.finish({out_text, err_text}); }

  LineRelay relay;
  OutputBuffer out_text, err_text;
};

}  // namespace

TEST_CASE("every line gets its rank's prefix") {
  Screen screen(11);
  screen.out(0, "a\n\nb\n");
  screen.err(10, "bad\n");
  CHECK(screen.out_text.view() == "[0] a\n[0] \n[0] b\n");
  CHECK(screen.err_text.view() == "[10] bad\n");
}

TEST_CASE("a job of one rank passes untouched") {
  Screen screen(1);
  const std::string binary("a\0\r\xff\nb\r\rc", 9);
  screen.out(0, binary, kOutputPartial);
  screen.out(0, "tail", kOutputPartial | kOutputMore);
  screen.finish();
  CHECK(screen.out_text.view() == binary + "tail");
}

TEST_CASE("one rank whose prefix is empty passes untouched") {
  Screen one(1);
  one.relay.set_prefixes({"", ""});
  const std::string binary("a\0\r\xff\nb\r\rc", 9);
  one.out(0, binary, kOutputPartial);
  one.finish();
  CHECK(one.out_text.view() == binary);
}

TEST_CASE("a line that stands still goes on where it stood, unless others wrote meanwhile") {
  Screen screen(2);
  screen.out(0, "load", kOutputPartial);
  screen.out(0, "ing", kOutputPartial);
  screen.out(1, "x\n");
  screen.out(0, " done\nnext\n");
  CHECK(screen.out_text.view() == "[0] loading\n[1] x\n[0]  done\n[0] next\n");
}

TEST_CASE("the newline alone ends an open line without a second prefix") {
  Screen screen(2);
  screen.out(0, "a", kOutputPartial);
  screen.out(0, "\nb\n");
  CHECK(screen.out_text.view() == "[0] a\n[0] b\n");
}

TEST_CASE("progress lines draw over themselves, prefix included") {
  Screen screen(2);
  screen.out(0, "1%\r", kOutputPartial | kOutputCr);
  screen.out(0, "2%\r", kOutputPartial | kOutputCr);
  screen.out(0, "\n");
  CHECK(screen.out_text.view() == "[0] 1%\r[0] 2%\r\n");

  Screen tqdm(2);
  tqdm.err(1, "\r 5%", kOutputPartial);
  tqdm.err(1, "\r 9%\n");
  CHECK(tqdm.err_text.view() == "[1] \r[1]  5%\r[1]  9%\n");
}

TEST_CASE("a Windows line end is no progress line") {
  Screen screen(2);
  screen.out(0, "a\r\nb\r\n");
  CHECK(screen.out_text.view() == "[0] a\r\n[0] b\r\n");
}

TEST_CASE("pieces of a long line wait for each other, so nothing comes between them") {
  Screen screen(2);
  screen.out(0, "AAA", kOutputPartial | kOutputMore);
  screen.out(1, "x\n");
  screen.out(0, "BBB", kOutputPartial | kOutputMore);
  screen.out(1, "y\n");
  screen.out(0, "C\nD\n");
  CHECK(screen.out_text.view() == "[1] x\n[1] y\n[0] AAABBBC\n[0] D\n");
}

TEST_CASE("stdout and stderr of one screen close each other's lines; of two they do not") {
  Screen one(2, true);
  one.out(0, "a", kOutputPartial);
  one.err(0, "b\n");
  CHECK(one.err_text.view() == "\n[0] b\n");
  Screen two(2, false);
  two.out(0, "a", kOutputPartial);
  two.err(0, "b\n");
  CHECK(two.err_text.view() == "[0] b\n");
}

TEST_CASE("our own lines start at the left") {
  Screen screen(1, true);
  screen.out(0, "prompt> ", kOutputPartial);
  screen.own("dslaunch: interrupted");
  CHECK(screen.err_text.view() == "\ndslaunch: interrupted\n");
}

TEST_CASE("the end of a job of several ranks leaves no open or held line") {
  Screen screen(2);
  screen.out(0, "half", kOutputPartial);
  screen.err(1, "long", kOutputPartial | kOutputMore);
  screen.finish();
  CHECK(screen.out_text.view() == "[0] half\n");
  CHECK(screen.err_text.view() == "[1] long\n");
}

TEST_CASE("given prefixes stand before each stream's lines, also of a single rank") {
  Screen screen(1, true);
  screen.relay.set_prefixes({"n0 out: ", "n0 err: "});
  screen.out(0, "a\nb");
  screen.err(0, "c\n");
  CHECK(screen.out_text.view() == "n0 out: a\nn0 out: b");
  CHECK(screen.err_text.view() == "\nn0 err: c\n");
}

TEST_CASE("no prefix leaves lines whole") {
  Screen screen(2);
  screen.relay.set_prefixes({"", "", "", ""});
  screen.out(0, "half", kOutputPartial);
  screen.out(1, "x\n");
  CHECK(screen.out_text.view() == "half\nx\n");
}

TEST_CASE("lines of several ranks draw over their own progress") {
  Screen screen(3);
  const RelayOutput to{screen.out_text, screen.err_text};
  screen.relay.line(-1, 1, "1%\r", "[0-2] ", to);
  screen.relay.line(-1, 1, "2%\r", "[0-2] ", to);
  screen.relay.line(1, 1, "bad\n", "[1] ", to);
  CHECK(screen.out_text.view() == "[0-2] 1%\r[0-2] 2%\r\n[1] bad\n");
}

TEST_CASE("beginnings of lines without end share what may be held, and go on in pieces beyond it") {
  Screen screen(40);
  const std::string piece(std::size_t{1} << 20, 'x');
  for (int rank = 0; rank < 40; ++rank) screen.out(rank, piece, kOutputPartial | kOutputMore);
  const std::size_t shown = screen.out_text.size();
  CHECK(shown >= 8 * piece.size());
  CHECK(shown < 9 * piece.size());
  // Lines that were held come out whole; what has been let through makes room for others.
  screen.out(0, "end\n");
  CHECK(screen.out_text.view().substr(shown) == "\n[0] " + piece + "end\n");
  screen.out_text.clear();
  screen.out(0, piece, kOutputPartial | kOutputMore);
  CHECK(screen.out_text.empty());
}
