// Tests the receiving end of a copy: which bytes it asks for, and every fault on the way.
#include "launcher/copy/copy_target.h"

#include <doctest/doctest.h>

#include "support/fake_disk.h"

using namespace ds::launcher::copy;
using ds::test::FakeDisk;

namespace {

Digest digest_of(std::string_view text, std::uint64_t seed = 5) {
  Hasher hasher(seed);
  hasher.add(std::as_bytes(std::span(text)));
  return hasher.digest();
}
CopyEntry file_entry(std::string path, std::uint64_t size, std::uint32_t id = 0) {
  CopyEntry entry;
  entry.id = id;
  entry.path = std::move(path);
  entry.size = size;
  entry.modified = 7;
  return entry;
}

/// A target whose answers a test reads one by one.
struct Bench {
  FakeDisk disk;
  std::vector<CopyMessage> sent;
  CopyTarget target;
  explicit Bench(TargetSetting setting = {.seed = 5})
      : target(disk, std::move(setting), [this](const CopyMessage& m) { sent.push_back(m); }) {}

  template <class T>
  T take() {
    while (target.hash_some()) {
    }
    REQUIRE(!sent.empty());
    REQUIRE(std::holds_alternative<T>(sent.front()));
    const T message = std::get<T>(sent.front());
    sent.erase(sent.begin());
    return message;
  }
  void data(std::string_view text, std::uint64_t offset = 0, std::uint32_t id = 0) {
    target.on(CopyData{id, offset, std::as_bytes(std::span(text))});
  }
  void end(std::string_view whole, std::uint32_t id = 0) {
    target.on(CopyEnd{id, digest_of(whole), {}});
  }
};

}  // namespace

TEST_CASE("a new file: all bytes are asked for, and its name comes with the last of them") {
  Bench bench;
  bench.target.on(file_entry("a", 5));
  CHECK(bench.take<CopyFetch>().from == 0);
  bench.target.on(CopyListed{});
  bench.data("he");
  bench.data("llo", 2);
  CHECK(bench.disk.files.empty());
  bench.end("hello");
  CHECK(bench.disk.files["a"] == "hello");
  const auto result = bench.take<CopyResult>();
  CHECK(result.problem.empty());
  CHECK_FALSE(result.unchanged);
  CHECK(bench.target.finished());
}

TEST_CASE("an empty file needs no bytes") {
  Bench bench;
  bench.target.on(file_entry("empty", 0));
  bench.take<CopyFetch>();
  bench.end("");
  CHECK(bench.disk.files.contains("empty"));
}

TEST_CASE("an equal file is not sent; one of equal size with other bytes is") {
  for (const bool equal : {true, false}) {
    Bench bench;
    bench.disk.files["a"] = "hello";
    bench.target.on(file_entry("a", 5));
    const auto claim = bench.take<CopyClaim>();
    CHECK(claim.whole);
    CHECK(claim.digest == digest_of("hello"));
    bench.target.on(CopyVerdict{0, equal});
    if (equal)
      CHECK(bench.take<CopyResult>().unchanged);
    else
      CHECK(bench.take<CopyFetch>().from == 0);
  }
}

TEST_CASE("--quick compares size and time only") {
  Bench bench({.seed = 5, .quick = true});
  bench.disk.files["a"] = "hello";
  bench.target.on(file_entry("a", 5));
  CHECK(bench.take<CopyResult>().unchanged);
  CopyEntry newer = file_entry("a", 5, 1);
  newer.modified = 8;
  bench.target.on(newer);
  bench.take<CopyClaim>();
}

TEST_CASE("an interrupted copy goes on where its bytes agree, and starts again where not") {
  for (const bool agrees : {true, false}) {
    Bench bench;
    bench.disk.parts["a"] = "hel";
    bench.target.on(file_entry("a", 5));
    const auto claim = bench.take<CopyClaim>();
    CHECK_FALSE(claim.whole);
    CHECK(claim.size == 3);
    bench.target.on(CopyVerdict{0, agrees});
    CHECK(bench.take<CopyFetch>().from == (agrees ? 3U : 0U));
    if (agrees)
      bench.data("lo", 3);
    else
      bench.data("hello");
    bench.end("hello");
    CHECK(bench.take<CopyResult>().problem.empty());
    CHECK(bench.disk.files["a"] == "hello");
  }
}

TEST_CASE("an interrupted update of a file of the same size goes on") {
  Bench bench;
  bench.disk.files["a"] = "older";
  bench.disk.parts["a"] = "hel";
  bench.target.on(file_entry("a", 5));
  CHECK(bench.take<CopyClaim>().whole);
  bench.target.on(CopyVerdict{0, false});
  const auto claim = bench.take<CopyClaim>();
  CHECK_FALSE(claim.whole);
  CHECK(claim.digest == digest_of("hel"));
  bench.target.on(CopyVerdict{0, true});
  CHECK(bench.take<CopyFetch>().from == 3);
  bench.data("lo", 3);
  bench.end("hello");
  CHECK(bench.disk.files["a"] == "hello");
}

TEST_CASE("what is there already is hashed a few megabytes at a time") {
  Bench bench;
  const std::string text(2 * CopyTarget::kHashAtOnce + 1, 'x');
  bench.disk.files["a"] = text;
  bench.target.on(file_entry("a", text.size()));
  CHECK(bench.target.hash_some());
  CHECK(bench.target.hash_some());
  CHECK(bench.sent.empty());
  CHECK_FALSE(bench.target.hash_some());
  CHECK(bench.take<CopyClaim>().digest == digest_of(text));
  CHECK_FALSE(bench.target.hash_some());
}

TEST_CASE("a source that is asked again sends the file that is open first") {
  Bench bench;
  bench.disk.files["a"] = "older";
  bench.target.on(file_entry("a", 5, 0));
  bench.target.on(file_entry("b", 5, 1));
  CHECK(bench.take<CopyFetch>().id == 1);
  bench.take<CopyClaim>();
  bench.target.on(CopyVerdict{0, false});
  CHECK(bench.take<CopyFetch>().id == 0);
  bench.data("he", 0, 1);
  bench.target.fetch_again();
  const auto first = bench.take<CopyFetch>();
  CHECK(first.id == 1);
  CHECK(first.from == 2);
  CHECK(bench.take<CopyFetch>().id == 0);
  bench.data("llo", 2, 1);
  bench.end("hello", 1);
  bench.data("hello", 0, 0);
  bench.end("hello", 0);
  CHECK_FALSE(bench.target.problem());
  CHECK(bench.disk.files["a"] == "hello");
}

TEST_CASE("a part that is longer than the file is of no use") {
  Bench bench;
  bench.disk.parts["a"] = "hello world";
  bench.target.on(file_entry("a", 5));
  CHECK(bench.take<CopyFetch>().from == 0);
}

TEST_CASE("a fault of the disk fails one file; others go on") {
  for (const std::string where : {"look", "open", "write", "commit"}) {
    CAPTURE(where);
    Bench bench;
    bench.disk.fails = where;
    bench.target.on(file_entry("a", 5));
    if (where != "look") {
      bench.take<CopyFetch>();
      bench.data("hello");
      bench.end("hello");
    }
    CHECK(bench.take<CopyResult>().problem == "cannot " + where);
    CHECK(bench.disk.parts.empty());
    bench.disk.fails.clear();
    bench.target.on(file_entry("b", 2, 1));
    bench.take<CopyFetch>();
    bench.data("hello", 0, 0);  // the source did not know of the fault yet
    bench.end("hello", 0);
    bench.data("ok", 0, 1);
    bench.end("ok", 1);
    CHECK(bench.take<CopyResult>().problem.empty());
    CHECK(bench.disk.files["b"] == "ok");
    CHECK_FALSE(bench.target.problem());
  }
}

TEST_CASE("a target that cannot be read is sent whole") {
  Bench bench;
  bench.disk.fails = "hash";
  bench.disk.files["a"] = "12345";
  bench.target.on(file_entry("a", 5));
  CHECK(bench.take<CopyFetch>().from == 0);
}

TEST_CASE("a folder in the place of a file is a message") {
  Bench bench;
  bench.disk.folders.insert("a");
  bench.target.on(file_entry("a", 5));
  CHECK(bench.take<CopyResult>().problem == "a: is a folder there");
}

TEST_CASE("bytes with another digest never get the file's name") {
  Bench bench;
  bench.disk.files["a"] = "old";
  bench.target.on(file_entry("a", 5));
  bench.take<CopyFetch>();
  bench.data("hellp");
  bench.end("hello");
  CHECK(bench.take<CopyResult>().problem.find("another digest") != std::string::npos);
  CHECK(bench.disk.files["a"] == "old");
  CHECK(bench.disk.parts.empty());
}

TEST_CASE("a source that cannot read its file to the end says so") {
  Bench bench;
  bench.target.on(file_entry("a", 5));
  bench.take<CopyFetch>();
  bench.data("he");
  bench.target.on(CopyEnd{0, {}, "a changed while it was copied"});
  CHECK(bench.take<CopyResult>().problem == "a changed while it was copied");
  CHECK(bench.disk.files.empty());
}

TEST_CASE("messages that no source sends end the copy") {
  const auto broken = [](auto message) {
    Bench bench;
    bench.target.on(file_entry("a", 5));
    bench.target.on(message);
    return bench.target.problem().has_value();
  };
  const std::string text = "hello, world";
  CHECK(broken(CopyData{0, 1, std::as_bytes(std::span(text).first(1))}));
  CHECK(broken(CopyData{0, 0, std::as_bytes(std::span(text))}));
  CHECK(broken(CopyData{9, 0, {}}));
  CHECK(broken(CopyEnd{0, {}, {}}));
  CHECK(broken(CopyEnd{9, {}, {}}));
  CHECK(broken(CopyVerdict{0, true}));
  CHECK(broken(file_entry("b", 1, 7)));
  for (const char* path : {"", "/etc/passwd", "../up", "a/../b", "a//b", "a/.", ".."})
    CHECK(broken(file_entry(path, 1, 1)));
  CHECK(broken(file_entry(std::string("a\0b", 3), 1, 1)));
}

TEST_CASE("folders get their modes last, the deepest first") {
  Bench bench;
  CopyEntry folder = file_entry("d", 0);
  folder.kind = EntryKind::folder;
  bench.target.on(folder);
  folder.id = 1;
  folder.path = "d/e";
  bench.target.on(folder);
  bench.target.on(file_entry("d/e/a", 0, 2));
  bench.target.on(CopyListed{});
  CHECK(bench.disk.settled.empty());
  bench.end("", 2);
  CHECK(bench.disk.settled == std::vector<std::string>{"d/e", "d"});
  CHECK(bench.target.finished());
}

TEST_CASE("when the source is gone, the rest of all files is asked for again") {
  Bench bench;
  bench.target.on(file_entry("a", 5));
  bench.target.on(file_entry("b", 2, 1));
  bench.take<CopyFetch>();
  bench.take<CopyFetch>();
  bench.data("hel");
  bench.target.fetch_again();
  CHECK(bench.take<CopyFetch>().from == 3);
  CHECK(bench.take<CopyFetch>().id == 1);
  bench.data("lo", 3);
  bench.end("hello");
  CHECK(bench.disk.files["a"] == "hello");
}

TEST_CASE("names at the target") {
  CHECK(target_path("a/b", {}) == "a/b");
  CHECK(target_path("a/b", {.first_name = "c"}) == "c/b");
  CHECK(target_path("a/b", {.suffix = ".node1"}) == "a.node1/b");
}
