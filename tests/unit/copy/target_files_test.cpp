// Tests that a temporary file which another copy replaced or committed is never continued.
#include "launcher/copy/target_files.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/temp_folder.h"

using namespace ds::launcher::copy;

namespace {

struct Target {
  ds::test::TempFolder folder;
  std::string part = folder / ".a.dslaunch-part";
  TargetFiles files = open();

  [[nodiscard]] TargetFiles open() const {
    const std::string path = folder / ".";
    return {ds::UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY)), "", false};
  }
  static void put(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void hash_part(std::uint64_t size) {
    Hasher hasher;
    REQUIRE(files.hash("a", true, 0, size, hasher).empty());
  }
};

constexpr const char* kChanged =
    "cannot write a: its incomplete copy changed while it was copied; copy it again";

}  // namespace

TEST_CASE("an interrupted copy that is unchanged goes on") {
  Target target;
  Target::put(target.part, "hello");
  target.hash_part(5);
  REQUIRE(target.files.open("a", 5).empty());
  REQUIRE(target.files.write(std::as_bytes(std::span(" you", 4))).empty());
  REQUIRE(target.files.commit({}).empty());
  CHECK(Target::text_of(target.folder / "a") == "hello you");
}

TEST_CASE("an interrupted copy that is gone or shorter does not become zero bytes") {
  Target target;
  Target::put(target.part, "hello");
  target.hash_part(5);
  std::filesystem::remove(target.part);
  CHECK(target.files.open("a", 5) == kChanged);
  CHECK_FALSE(std::filesystem::exists(target.part));

  Target::put(target.part, "hello");
  target.hash_part(5);
  Target::put(target.part, "hell");
  CHECK(target.files.open("a", 5) == kChanged);
  CHECK(Target::text_of(target.part) == "hell");
}

TEST_CASE("an interrupted copy that another file replaced is not continued") {
  Target target;
  Target::put(target.part, "hello");
  target.hash_part(5);
  Target::put(target.folder / "other", "HELLO, other bytes");
  std::filesystem::rename(target.folder / "other", target.part);
  CHECK(target.files.open("a", 5) == kChanged);
  CHECK(Target::text_of(target.part) == "HELLO, other bytes");
  REQUIRE(target.files.open("a", 0).empty());  // from its beginning, the file may be anything
}

TEST_CASE("copies of one file that run side by side never write a file with its final name") {
  const Target target;
  const std::string text(4096, 'x');
  std::atomic<int> lost{
      0};  // files that another copy gave their final name while they were written
  const auto copy = [&] {
    TargetFiles files = target.open();
    for (int i = 0; i < 5000; ++i) {
      if (!files.open("a", 0).empty()) continue;  // the other copy writes it
      (void)files.write(std::as_bytes(std::span(text)));
      if (!files.commit({}).empty()) ++lost;
    }
  };
  {
    const std::jthread one(copy);
    const std::jthread other(copy);
  }
  CHECK(lost.load() == 0);
  CHECK(Target::text_of(target.folder / "a") == text);
}

TEST_CASE("a temporary file that somebody else has made is replaced, not continued") {
  Target target;
  Target::put(target.folder / "theirs", "hello");
  std::filesystem::create_hard_link(target.folder / "theirs", target.part);
  Existing found;
  REQUIRE(target.files.look("a", found).empty());
  CHECK(found.part_size == 0);
  target.hash_part(5);
  CHECK(target.files.open("a", 5) == kChanged);
  REQUIRE(target.files.open("a", 0).empty());
  REQUIRE(target.files.write(std::as_bytes(std::span("mine", 4))).empty());
  REQUIRE(target.files.commit({}).empty());
  CHECK(Target::text_of(target.folder / "a") == "mine");
  CHECK(Target::text_of(target.folder / "theirs") == "hello");
}
