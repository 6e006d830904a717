// Tests of SaveFolder on a real disk: begin, commit, replace, thin out, set aside.
#include "engine/checkpoint/save_folder.h"

#include <doctest/doctest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "engine/base/error.h"
#include "engine/checkpoint/folder_files.h"
#include "engine/checkpoint/folder_lock.h"
#include "engine/checkpoint/latest_name.h"
#include "engine/checkpoint/save_names.h"
#include "support/small_save.h"
#include "unit/checkpoint/folder.h"

namespace ds {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::Folder;
using test::has;
using test::read_text;
using test::save_small;
using test::write_text;

using Names = std::vector<std::string>;
using Steps = std::vector<std::int64_t>;

bool whole(const std::string& folder) { return test::is_whole(Checkpoint::open(folder)); }

Error error_of(const auto& act) {
  try {
    act();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::bug, "no error"};
}

TEST_CASE("a save is complete only after its commit") {
  const Folder place;
  SaveFolder folder(place.path(), 0xabc);
  folder.own(0ms);
  CHECK(folder.complete().empty());
  test::publish_small(folder, 40, 3);
  CHECK(folder.complete().empty());
  CHECK(names_in(place.file("step-00000040.tmp-abc")) ==
        Names{"rank-00000.chunk", "rank-00000.part", "rank-00001.chunk", "rank-00001.part",
              "rank-00002.chunk", "rank-00002.part"});
  const Manifest manifest = folder.commit(test::small_head(40, 3));
  CHECK(folder.complete() == Names{"step-00000040"});
  CHECK(manifest.chunks.size() == 3);
  CHECK(whole(place.file("step-00000040")));
  CHECK(Checkpoint::open(place.file("step-00000040"))->manifest() == manifest);
  CHECK(names_in(place.file("step-00000040")) ==
        Names{"manifest.json", "rank-00000.chunk", "rank-00001.chunk", "rank-00002.chunk"});
  CHECK(names_in(place.path()) == Names{".lock", "latest", "step-00000040"});
  CHECK(read_text(place.file("latest")) == "step-00000040\n");
  CHECK(folder.free_bytes() > 0);
}

TEST_CASE("folders with missing parents, links, relative paths, spaces, UTF-8, in memory") {
  const Folder place;
  const auto works = [](const std::string& dir) {
    CAPTURE(dir);
    SaveFolder folder(dir, 1);
    folder.own(0ms);
    save_small(folder, 7);
    CHECK(whole(dir + "/step-00000007"));
    CHECK(fs::path(folder.dir()).is_absolute());
  };
  works(place.file("a/b/c"));
  works(place.file("with space/\xc3\xa4\xe6\xb0\xb4/"));
  fs::create_directory_symlink("a/b", place.file("link"));
  works(place.file("link"));
  const std::string before = fs::current_path();
  fs::current_path(place.path());
  works("relative/x");
  works("./link/../y");
  fs::current_path(before);
  CHECK(whole(place.file("relative/x/step-00000007")));
  CHECK(whole(place.file("a/y/step-00000007")));  // ".." after a link, as the kernel resolves it
  if (::access("/dev/shm", W_OK) == 0) {
    std::string memory = "/dev/shm/checkpointXXXXXX";
    REQUIRE(::mkdtemp(memory.data()) != nullptr);
    works(memory);
    fs::remove_all(memory);
  }
}

TEST_CASE("errors name an unusable folder and the reason") {
  const Folder place;
  write_text(place.file("file"), "");
  fs::create_symlink("nowhere", place.file("dangling"));
  for (const auto& [dir, why] : {std::pair{"file", "is not a folder"},
                                 {"file/below", "is not a folder"},
                                 {"dangling", "does not exist"}}) {
    const Error error = error_of([&] { const SaveFolder folder(place.file(dir), 1); });
    CHECK(error.kind() == ErrorKind::config);
    CHECK(has(error.what(), place.file(dir)));
    CHECK(has(error.what(), why));
    CHECK(!error.hint().empty());
  }
}

TEST_CASE("a save does not create a removed folder again") {
  const Folder place;
  const SaveFolder folder(place.file("dir"), 1);
  fs::remove_all(place.file("dir"));
  const Error error = error_of([&] { folder.begin(40); });
  CHECK(error.kind() == ErrorKind::system);
  CHECK(has(error.hint(), "mounted"));
  CHECK(!fs::exists(place.file("dir")));
  CHECK(folder.complete().empty());
  folder.abandon(40);
  CHECK(folder.thin_out({.keep = 1, .major_every = 0}).empty());
}

TEST_CASE(
    "a part that is missing, truncated or of another rank is reported, and older checkpoints "
    "stay") {
  const Folder place;
  const SaveFolder folder(place.path(), 1);
  save_small(folder, 20);
  test::publish_small(folder, 40, 2);
  const std::string tmp = place.file(unfinished_name(40, 1));
  const std::string part = tmp + "/rank-00001.part";
  const std::string text = read_text(part);
  const auto refused = [&](const std::string& why) {
    const Error error = error_of([&] { folder.commit(test::small_head(40, 2)); });
    CAPTURE(error.what());
    CHECK(error.kind() == ErrorKind::system);
    CHECK(has(error.for_people(), why));
    CHECK(folder.complete() == Names{"step-00000020"});
    CHECK(whole(place.file("step-00000020")));
  };
  fs::remove(part);
  refused("rank 1's part is missing in " + tmp);
  refused("the same folder on all nodes?");
  write_text(part, text.substr(0, text.size() / 2));
  refused("rank-00001.part");
  write_text(part, read_text(tmp + "/rank-00000.part"));
  refused("it belongs to rank 0");
  write_text(part, text);
  fs::resize_file(tmp + "/rank-00001.chunk", 10);
  refused("rank 1's chunk " + tmp + "/rank-00001.chunk has 10 bytes here");
  fs::remove(tmp + "/rank-00001.chunk");
  refused("rank 1's chunk " + tmp + "/rank-00001.chunk is missing");
  folder.abandon(40);
  CHECK(!fs::exists(tmp));
}

TEST_CASE("files of an earlier attempt are overwritten") {
  const Folder place;
  const SaveFolder folder(place.path(), 1);
  fs::create_directory(place.file(unfinished_name(40, 2)));  // left by another run
  test::publish_small(folder, 40, 3);                        // never committed
  const std::string tmp = place.file(unfinished_name(40, 1));
  write_text(tmp + "/rank-00000.part", "torn");
  write_text(tmp + "/rank-00001.chunk", "torn");
  folder.abandon(40);
  folder.abandon(40);
  save_small(folder, 40, 2);
  CHECK(whole(place.file("step-00000040")));
  CHECK(names_in(place.file("step-00000040")) ==
        Names{"manifest.json", "rank-00000.chunk", "rank-00001.chunk"});
  const Error error = error_of([&] { folder.publish(60, {}); });
  CHECK(error.kind() == ErrorKind::system);
}

TEST_CASE("one job at a time; the error names the other job") {
  const Folder place;
  SaveFolder first(place.path(), 1);
  first.own(0ms);
  SaveFolder second(place.path(), 2);
  const Error error = error_of([&] { second.own(0ms); });
  CHECK(error.kind() == ErrorKind::config);
  CHECK(has(error.what(), "another job saves there: process " + std::to_string(::getpid())));
  { const SaveFolder gone = std::move(first); }
  second.own(0ms);
}

TEST_CASE("a job waits before it reads a folder that another job has locked") {
  const Folder place;
  std::vector<std::string> seen;
  const auto wait = [&](std::chrono::milliseconds patience) {
    await_folder(place.path(), {}, Deadline::after(patience),
                 [&](const std::string& holder) { seen.push_back(holder); });
  };
  wait(0ms);  // there is no lock file yet
  CHECK(seen.empty());
  std::optional<SaveFolder> earlier(std::in_place, place.path(), 1);
  earlier->own(0ms);
  const Error error = error_of([&] { wait(0ms); });
  CHECK(has(error.what(), "another job saves there: process " + std::to_string(::getpid())));
  CHECK(seen.size() == 1);
  CHECK(has(seen.at(0), "process " + std::to_string(::getpid())));
  await_folder(place.path(), {}, Deadline::after(1min),
               [&](const std::string&) { earlier.reset(); });
  wait(0ms);
  SaveFolder(place.path(), 2).own(0ms);  // the wait kept no lock
}

TEST_CASE("the lock of an earlier epoch of the same job yields, and no other lock") {
  const Folder place;
  const LockHolder before{.job = "job-7", .epoch = 1}, now{.job = "job-7", .epoch = 2};
  SaveFolder earlier(place.path(), 1);
  earlier.own(0ms, before);
  for (const LockHolder& other : {LockHolder{}, LockHolder{.job = "job-8", .epoch = 2}, before}) {
    const Error error = error_of([&] { SaveFolder(place.path(), 2).own(0ms, other); });
    CHECK(has(error.what(), "another job saves there: process " + std::to_string(::getpid())));
  }
  await_folder(place.path(), now, Deadline::after(0ms), [](const std::string&) { CHECK(false); });
  SaveFolder later(place.path(), 2);
  later.own(0ms, now);
  CHECK(has(error_of([&] { SaveFolder(place.path(), 3).own(0ms, before); }).what(),
            "another job saves there"));
  { const SaveFolder gone = std::move(earlier); }  // its end does not unlock the new file
  CHECK(has(error_of([&] { SaveFolder(place.path(), 3).own(0ms); }).what(),
            "another job saves there"));
  CHECK(names_in(place.path()) == Names{".lock"});
  { const SaveFolder gone = std::move(later); }
  SaveFolder(place.path(), 3).own(0ms);
}

TEST_CASE("the text of a lock decides whether it yields") {
  const LockHolder own{.job = "a b", .epoch = 3};
  CHECK(yields_to("process 1 on h\njob a b\nepoch 2\n", own));
  for (const char* text :
       {"", "process 1 on h\n", "process 1 on h\njob a b\nepoch 3\n",
        "process 1 on h\njob a\nepoch 2\n", "process 1 on h\njob a b\nepoch\n",
        "process 1 on h\njob a b\nepoch -1\n", "process 1 on h\njob a b\nepoch 2x\n", "job a b"})
    CHECK(!yields_to(text, own));
  CHECK(!yields_to("process 1 on h\njob \nepoch 2\n", {.job = "", .epoch = 3}));
}

TEST_CASE("incomplete saves of earlier runs are removed, and nothing else") {
  const Folder place;
  {
    const SaveFolder earlier(place.path(), 1);
    for (const std::int64_t step : {20, 40, 60}) save_small(earlier, step);
    test::publish_small(earlier, 80, 2);
    fs::rename(place.file("step-00000020"), place.file(removed_name(20, 1)));
    fs::create_directory(place.file("step-00000040.set-aside"));
    fs::create_directory(place.file("step-00000041.mine"));
    write_text(place.file("latest"), "step-00000020\n");
    write_text(place.file(".probe-4711"), "4711");
  }
  SaveFolder folder(place.path(), 2);
  folder.own(0ms);
  CHECK(names_in(place.path()) == Names{".lock", "latest", "step-00000040",
                                        "step-00000040.set-aside", "step-00000041.mine",
                                        "step-00000060"});
  CHECK(latest_name(place.path()) == "step-00000060");
}

TEST_CASE("a complete checkpoint of the same step is replaced") {
  const Folder place;
  const SaveFolder folder(place.path(), 5);
  save_small(folder, 40, 1);
  save_small(folder, 40, 3);
  CHECK(Checkpoint::open(place.file("step-00000040"))->manifest().world_size == 3);
  CHECK(whole(place.file("step-00000040")));
  CHECK(names_in(place.path()) == Names{"latest", "step-00000040"});
}

TEST_CASE("after a run ended while replacing, the intact checkpoint has the name") {
  const Folder place;
  const std::string name = place.file("step-00000040");
  const std::string aside = place.file(replaced_name(40, 5));
  {
    const SaveFolder folder(place.path(), 5);
    save_small(folder, 40, 1);
    fs::rename(name, aside);
  }
  const auto own = [&] { SaveFolder(place.path(), 6).own(0ms); };
  SUBCASE("the new one is not renamed yet") {
    own();
    CHECK(Checkpoint::open(name)->manifest().world_size == 1);
  }
  SUBCASE("the new one is intact") {
    save_small(SaveFolder(place.path(), 5), 40, 3);
    own();
    CHECK(Checkpoint::open(name)->manifest().world_size == 3);
  }
  SUBCASE("the new one is broken") {
    fs::create_directory(name);
    write_text(name + "/manifest.json", "{");
    own();
    CHECK(Checkpoint::open(name)->manifest().world_size == 1);
    CHECK(fs::exists(place.file("step-00000040.set-aside")));
  }
  CHECK(!fs::exists(aside));
  CHECK(whole(name));
  CHECK(latest_name(place.path()) == "step-00000040");
}

TEST_CASE("thin_out() keeps what the policy says") {
  const Folder place;
  const SaveFolder folder(place.path(), 1);
  for (const std::int64_t step : {10, 20, 30, 40}) save_small(folder, step);
  CHECK(folder.thin_out({.keep = 1, .major_every = 20}) == Steps{10, 30});
  CHECK(names_in(place.path()) == Names{"latest", "step-00000020", "step-00000040"});
  CHECK(folder.thin_out({.keep = 1, .major_every = 20}).empty());
}

TEST_CASE("checkpoints after the resumed step are set aside, and latest is corrected") {
  const Folder place;
  const SaveFolder folder(place.path(), 1);
  for (const std::int64_t step : {10, 20, 30}) save_small(folder, step);
  CHECK(folder.set_aside_after(30).empty());
  CHECK(folder.set_aside_after(10) == Names{"step-00000030.set-aside", "step-00000020.set-aside"});
  CHECK(folder.complete() == Names{"step-00000010"});
  CHECK(latest_name(place.path()) == "step-00000010");
  save_small(folder, 20);
  CHECK(folder.set_aside_after(-1) ==
        Names{"step-00000020.set-aside-2", "step-00000010.set-aside"});
  CHECK(!fs::exists(place.file("latest")));
}

TEST_CASE("latest never names an old checkpoint") {
  const Folder place;
  const SaveFolder folder(place.path(), 1);
  save_small(folder, 10);
  fs::create_directory(place.file(".latest"));  // makes the write fail
  save_small(folder, 20);
  CHECK(whole(place.file("step-00000020")));
  CHECK(!fs::exists(place.file("latest")));
  fs::remove(place.file(".latest"));
  save_small(folder, 15);
  CHECK(latest_name(place.path()) == "step-00000020");
  for (const char* text : {"", "step-00000099/../..", "nonsense\n", "step-00000020\nmore"}) {
    write_text(place.file("latest"), text);
    CHECK(latest_name(place.path()).empty());
  }
}

}  // namespace
}  // namespace ds
