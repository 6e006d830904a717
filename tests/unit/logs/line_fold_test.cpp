// Tests of LineFold: equal lines of ranks become one, within promised order, delay and memory.
#include "launcher/logs/line_fold.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>
#include <utility>

#include "launcher/logs/line_batcher.h"
#include "launcher/hosts/fold_names.h"

namespace {

using namespace std::chrono_literals;
using namespace ds::launcher;

const ds::Clock::time_point kT0{1h};

struct Folder {
  explicit Folder(int ranks)
      : fold([this](const FoldedLine& line) {
          shown += '[' + rank_ranges(line.ranks) + "] " + std::string(line.text) +
                   (line.piece ? "|" : "");
        }) {
    fold.start(std::vector<bool>(static_cast<std::size_t>(ranks), true));
  }
  void say(int rank, std::string_view text, ds::Clock::time_point now = kT0, int flags = 0) {
    fold.add(rank, static_cast<std::uint8_t>(flags), text, now, now);
  }
  /// What has been shown since the last call.
  std::string take() { return std::exchange(shown, {}); }

  std::string shown;
  LineFold fold;
};

}  // namespace

TEST_CASE("what all ranks say is one line, at once") {
  Folder folder(4);
  for (const int rank : {2, 0, 3}) folder.say(rank, "step 10\n");
  CHECK(folder.take().empty());
  folder.say(1, "step 10\n");
  CHECK(folder.take() == "[0-3] step 10\n");
  CHECK_FALSE(folder.fold.wake_at());
}

TEST_CASE("what only some say waits for its window, no longer") {
  Folder folder(8);
  folder.say(5, "x\n", kT0);
  folder.say(2, "x\n", kT0 + 100ms);
  CHECK(folder.fold.wake_at() == kT0 + 250ms);
  folder.fold.tick(kT0 + 249ms);
  CHECK(folder.take().empty());
  folder.fold.tick(kT0 + 250ms);
  CHECK(folder.take() == "[2,5] x\n");
  folder.say(3, "x\n", kT0 + 260ms);
  folder.fold.tick(kT0 + 600ms);
  CHECK(folder.take() == "[3] x\n");
}

TEST_CASE("one rank's own line is shown at once while the crowd says something else") {
  Folder folder(8);
  for (int rank = 0; rank < 7; ++rank) folder.say(rank, "step 10\n");
  CHECK(folder.take().empty());
  folder.say(7, "loss is nan\n");
  CHECK(folder.take() == "[7] loss is nan\n");
  folder.fold.tick(kT0 + 250ms);
  CHECK(folder.take() == "[0-6] step 10\n");
}

TEST_CASE("also when it came first, once more than half agree") {
  Folder folder(8);
  folder.say(7, "loss is nan\n");
  for (int rank = 0; rank < 4; ++rank) folder.say(rank, "step 10\n");
  CHECK(folder.take().empty());
  folder.say(4, "step 10\n");
  CHECK(folder.take() == "[7] loss is nan\n");
}

TEST_CASE("the lines of a rank keep their order") {
  Folder folder(3);
  folder.say(0, "a\nb\na\n");
  folder.say(1, "b\na\n");
  folder.say(2, "a\n");
  folder.fold.tick(kT0 + 1s);
  // Rank 1 has joined rank 0's b and second a; rank 2 the first a.
  CHECK(folder.take() == "[0,2] a\n[0-1] b\n[0-1] a\n");
}

TEST_CASE("a complete line takes along what was said before it") {
  Folder folder(2);
  folder.say(0, "only 0\nboth\n");
  CHECK(folder.take().empty());
  folder.say(1, "both\n");
  CHECK(folder.take() == "[0] only 0\n[0-1] both\n");
}

TEST_CASE("a stray waits for what its rank has said with others before, not longer") {
  Folder folder(8);
  for (const int rank : {0, 7}) folder.say(rank, "early\n");
  folder.say(7, "stray 1\nstray 2\n", kT0 + 100ms);
  for (int rank = 1; rank < 6; ++rank) folder.say(rank, "crowd\n", kT0 + 100ms);
  CHECK(folder.take().empty());
  folder.fold.tick(kT0 + 250ms);
  CHECK(folder.take() == "[0,7] early\n[7] stray 1\n[7] stray 2\n");
  folder.say(7, "stray 3\n", kT0 + 260ms);
  CHECK(folder.take() == "[7] stray 3\n");
  folder.say(0, "crowd\n", kT0 + 260ms);
  folder.say(6, "crowd\n", kT0 + 260ms);
  folder.say(7, "crowd\n", kT0 + 270ms);
  CHECK(folder.take() == "[0-7] crowd\n");
}

TEST_CASE("a prompt takes along what its rank had said before, and whatever that needs") {
  Folder folder(8);
  for (const int rank : {0, 7}) folder.say(rank, "early\n");
  folder.say(0, "zero\n");
  folder.say(7, "mine\nname? ", kT0, kOutputPartial);
  CHECK(folder.take() == "[0,7] early\n[7] mine\n[7] name? |");
  folder.fold.flush();
  CHECK(folder.take() == "[0] zero\n");
}

TEST_CASE("many equal lines of one rank stay as many") {
  Folder folder(2);
  folder.say(0, ".\n.\n.\n");
  folder.say(1, ".\n.\n");
  CHECK(folder.take() == "[0-1] .\n[0-1] .\n");
  folder.fold.flush();
  CHECK(folder.take() == "[0] .\n");
}

TEST_CASE("lines are found however many of the others a rank leaves out") {
  Folder folder(3);
  std::string all, some, expected;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = std::to_string(i % 4000) + "\n";  // the last thousand are repeats
    all += text;
    if (i % 9 == 0) some += text;
    expected += (i % 9 == 0 ? "[0-1] " : "[0] ") + text;
  }
  folder.say(0, all);
  folder.say(1, some);
  folder.fold.tick(kT0 + 250ms);
  CHECK(folder.take() == expected);
}

TEST_CASE("ranks that have ended are not waited for") {
  Folder folder(3);
  folder.say(0, "bye\n");
  folder.say(1, "bye\n");
  folder.fold.ended(2, kT0, kT0);
  CHECK(folder.take() == "[0-1] bye\n");
  folder.fold.ended(0, kT0, kT0);
  folder.say(1, "alone\n");
  CHECK(folder.take() == "[1] alone\n");
}

TEST_CASE("a last line without newline is a line") {
  Folder folder(2);
  for (const int rank : {0, 1}) {
    folder.say(rank, "end", kT0, 0);
    folder.fold.ended(rank, kT0, kT0);
  }
  folder.fold.flush();
  CHECK(folder.take() == "[0-1] end\n");
}

TEST_CASE("progress lines are folded like others; a Windows line end is none") {
  Folder folder(2);
  for (const int rank : {0, 1}) folder.say(rank, "10%\r20%\rdone\r\n");
  CHECK(folder.take() == "[0-1] 10%\r[0-1] 20%\r[0-1] done\r\n");
  for (const int rank : {0, 1}) folder.say(rank, "30%\r", kT0, kOutputPartial | kOutputCr);
  CHECK(folder.take() == "[0-1] 30%\r");
}

TEST_CASE("a line that stands still is shown as it is, after what its rank said before") {
  Folder folder(2);
  folder.say(0, "before\nname> ", kT0, kOutputPartial);
  CHECK(folder.take() == "[0] before\n[0] name> |");
  folder.say(0, "Ann\nnext\n");
  CHECK(folder.take() == "[0] Ann\n|");
  folder.say(1, "next\n");
  CHECK(folder.take() == "[0-1] next\n");
}

TEST_CASE("a very long line passes in pieces") {
  Folder folder(2);
  const std::string part(40000, 'L');
  folder.say(0, part, kT0, kOutputPartial | kOutputMore);
  CHECK(folder.take().empty());
  folder.say(0, part, kT0, kOutputPartial | kOutputMore);
  CHECK(folder.take() == "[0] " + part + part + "|");
  folder.say(0, "end\n");
  CHECK(folder.take() == "[0] end\n|");
}

TEST_CASE("memory is bounded: the oldest leave early") {
  Folder folder(3);
  for (int i = 0; i < 300000; ++i) folder.say(0, std::to_string(i) + "\n");
  CHECK(folder.take().find("[0] 100000\n") != std::string::npos);
  folder.fold.flush();
  folder.take();
  const std::string text(60000, 'x');
  for (int i = 0; i < 500; ++i) folder.say(0, text + std::to_string(i) + "\n");
  CHECK(folder.take().size() > 500 * text.size() - LineFold::kMaxBytes);
}

TEST_CASE("any interleaving keeps each rank's lines, in order, each once") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const int ranks = 1 + static_cast<int>(random() % 40);
    std::map<int, std::string> said, seen;
    LineFold fold([&](const FoldedLine& line) {
      for (const int rank : line.ranks) seen[rank] += line.text;
    });
    fold.start(std::vector<bool>(static_cast<std::size_t>(ranks), true));
    ds::Clock::time_point now = kT0;
    for (int i = 0; i < 400; ++i) {
      const int rank = static_cast<int>(random() % static_cast<unsigned>(ranks));
      std::string text;
      for (std::size_t lines = 1 + random() % 3; lines > 0; --lines)
        text +=
            std::string(1, static_cast<char>('a' + random() % 3)) + (random() % 8 ? "\n" : "\r");
      if (text.back() == '\r') text += 'z';  // no '\r' right before the next piece's newline
      const bool still = text.back() != '\n';
      fold.add(rank, still ? kOutputPartial : 0, text, now, now);
      said[rank] += text;
      now += std::chrono::milliseconds(random() % 40);
      fold.tick(now);
      if (random() % 300 == 0) fold.ended(rank, now, now);
    }
    fold.flush();
    CHECK_FALSE(fold.wake_at());
    CHECK(seen == said);
  }
}

TEST_CASE("a restart flushes what was, and waits for all again") {
  Folder folder(2);
  folder.fold.ended(1, kT0, kT0);
  folder.say(1, "half");
  folder.fold.start({true, true});
  CHECK(folder.take() == "[1] half|");
  folder.say(0, "again\n");
  CHECK(folder.take().empty());
  folder.say(1, "again\n");
  CHECK(folder.take() == "[0-1] again\n");
}
