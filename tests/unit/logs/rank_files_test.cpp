// Tests of RankFiles: bytes, whole lines of two streams, and files that cannot be written.
#include "launcher/logs/rank_files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <system_error>

#include "engine/base/unique_fd.h"

namespace {

using namespace ds::launcher;

/// A folder, and files in it with a way to wait until all is written.
struct Folder {
  explicit Folder(int count, RankFiles::Begin begin = RankFiles::Begin::empty) {
    char name[] = "/tmp/dslaunch-files-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
    open(count, begin);
  }
  ~Folder() {
    files.reset();
    std::error_code error;
    do {
      std::filesystem::remove_all(path, error);
    } while (error == std::errc::directory_not_empty);  // RankFiles does not wait for its thread
  }
  void open(int count, RankFiles::Begin begin) {
    std::vector<std::string> paths;
    for (int i = 0; i < count; ++i) paths.push_back(file(i));
    files = std::make_unique<RankFiles>(std::move(paths), begin, [this] {
      const std::lock_guard lock(mutex);
      changed.notify_all();
    });
  }
  [[nodiscard]] std::string file(int i) const { return path + "/sub/" + std::to_string(i); }
  std::string text(int i) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return files->queued() == 0; });
    std::ifstream in(file(i), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string path;
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_ptr<RankFiles> files;
};

}  // namespace

TEST_CASE("files are made at once, and have what was added, byte for byte") {
  Folder folder(3);
  const std::string binary("a\0\xff\r\n", 5);
  folder.files->add(0, 1, binary, "");
  folder.files->add(0, 1, "tail", "");
  folder.files->add(1, 2, "one\ntwo\n", "T ");
  CHECK(folder.text(0) == binary + "tail");
  CHECK(folder.text(1) == "T one\nT two\n");
  CHECK(folder.text(2).empty());
  CHECK(std::filesystem::exists(folder.file(2)));
  CHECK_FALSE(folder.files->problem());
}

TEST_CASE("a line without end is ended before the other stream goes on") {
  Folder folder(1);
  folder.files->add(0, 1, "half", "T ");
  folder.files->add(0, 1, " way", "T ");
  folder.files->add(0, 2, "error\n", "T ");
  folder.files->add(0, 1, " there\n", "T ");
  CHECK(folder.text(0) == "T half way\nT error\nT  there\n");
}

TEST_CASE("files of an earlier job are emptied, those of an earlier epoch are not") {
  Folder folder(1);
  folder.files->add(0, 1, "old\n", "");
  CHECK(folder.text(0) == "old\n");
  folder.open(1, RankFiles::Begin::at_end);
  folder.files->add(0, 1, "new\n", "");
  CHECK(folder.text(0) == "old\nnew\n");
  folder.open(1, RankFiles::Begin::empty);
  CHECK(folder.text(0).empty());
}

TEST_CASE("more files than may be open at once") {
  rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &old) == 0);
  rlimit few = old;
  few.rlim_cur = 64;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  {
    Folder folder(200);
    for (int round = 0; round < 3; ++round)
      for (std::size_t i = 0; i < 200; ++i) folder.files->add(i, 1, std::to_string(i) + "\n", "");
    for (const int i : {0, 77, 199}) {
      const std::string line = std::to_string(i) + "\n";
      CHECK(folder.text(i) == line + line + line);
    }
    CHECK_FALSE(folder.files->problem());
  }
  ::setrlimit(RLIMIT_NOFILE, &old);
}

TEST_CASE("a full disk is reported once") {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
  Folder folder(1);
  CHECK(folder.text(0).empty());
  rlimit small = old;
  small.rlim_cur = 100;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  for (int i = 0; i < 5; ++i) folder.files->add(0, 1, std::string(99, 'x') + "\n", "");
  CHECK(folder.text(0).size() == 100);
  ::setrlimit(RLIMIT_FSIZE, &old);
  const auto problem = folder.files->problem();
  REQUIRE(problem);
  CHECK(*problem ==
        "cannot write " + folder.file(0) +
            ": File too large; 1 of 1 log files is incomplete so far, and the job continues");
  CHECK_FALSE(folder.files->problem());
}

TEST_CASE("files that lack something are counted, whichever failed first") {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
  Folder folder(3);
  CHECK(folder.text(2).empty());
  CHECK(incomplete_text(folder.files->incomplete()).empty());
  rlimit small = old;
  small.rlim_cur = 100;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  folder.files->add(0, 1, std::string(200, 'x') + "\n", "");
  CHECK(folder.text(0).size() == 100);
  folder.files->add(1, 1, "dropped: the disk is not tried again yet\n", "");
  CHECK(folder.text(1).empty());
  ::setrlimit(RLIMIT_FSIZE, &old);
  CHECK(incomplete_text(folder.files->incomplete()) ==
        "2 of 3 log files are incomplete: File too large");
}

TEST_CASE("files that could not be made are counted") {
  Folder folder(0);
  std::ofstream(folder.path + "/sub") << "not a folder";
  folder.open(2, RankFiles::Begin::empty);
  folder.text(0);
  const auto problem = folder.files->problem();
  REQUIRE(problem);
  CHECK(*problem ==
        "cannot write " + folder.file(0) +
            ": Not a directory; 2 of 2 log files are incomplete so far, and the job continues");
  CHECK(folder.files->incomplete().files == 2);
}

TEST_CASE("files whose output is given up are counted") {
  Folder folder(2);
  CHECK(folder.text(0).empty());
  ::mkfifo(folder.file(7).c_str(), 0600);  // opening it for writing waits for a reader
  folder.files.reset();
  std::vector<std::string> paths = {folder.file(0), folder.file(7)};
  RankFiles files(paths, RankFiles::Begin::at_end, [] {});
  files.add(1, 1, "x\n", "");
  files.give_up("the disk does not answer");
  CHECK(incomplete_text(files.incomplete()).ends_with(" incomplete: the disk does not answer"));
  const ds::UniqueFd reader(::open(folder.file(7).c_str(), O_RDONLY | O_NONBLOCK));
}
