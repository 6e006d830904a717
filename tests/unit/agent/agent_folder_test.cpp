// Tests AgentFolder: private, locked while the agent lives, found as abandoned afterwards.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "launcher/agent/leftovers.h"

using namespace ds::launcher;
namespace fs = std::filesystem;

namespace {

struct Scratch {
  fs::path path = fs::temp_directory_path() / ("ds_agent_folder_" + std::to_string(::getpid()));
  Scratch() { fs::remove_all(path); }
  ~Scratch() { fs::remove_all(path); }
  [[nodiscard]] std::string base() const { return path.string(); }
};

mode_t mode_of(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 07777U : 0;
}

/// No process has this start time.
const Cookie kDead{"job", 1, 1};

}  // namespace

TEST_CASE("a folder is private, held, and gone with what is in it") {
  const Scratch scratch;
  AgentFolder folder = AgentFolder::make(scratch.base(), kDead);
  REQUIRE(folder.path() == scratch.base() + "/agent-job.1.1");
  CHECK(mode_of(scratch.base()) == 0700);
  CHECK(mode_of(folder.path()) == 0700);
  CHECK(folder.error_file(2, 5) == folder.path() + "/epoch2.rank5.json");
  CHECK_MESSAGE(abandoned_folders(scratch.base()).empty(), "the lock is held");
  std::ofstream(folder.error_file(2, 5)) << "text";
  fs::create_directory(folder.path() + "/made by a rank");
  folder.remove();
  CHECK(fs::is_empty(scratch.path));
  CHECK(folder.path().empty());
}

TEST_CASE("a folder whose agent went without removing it is abandoned") {
  const Scratch scratch;
  { const AgentFolder left = AgentFolder::make(scratch.base(), kDead); }
  fs::create_directory(scratch.path / "agent-nonsense");
  std::ofstream(scratch.path / "0123456789abcdef.sock") << "";
  CHECK(abandoned_folders(scratch.base()) == std::vector<Cookie>{kDead});
  remove_abandoned_folder(scratch.base(), kDead);
  CHECK(abandoned_folders(scratch.base()).empty());
  CHECK(abandoned_folders(scratch.base() + "/none").empty());
}

TEST_CASE("what others can enter is not used") {
  const Scratch scratch;
  fs::create_directory(scratch.path);
  fs::permissions(scratch.path, fs::perms(0755));
  CHECK(AgentFolder::make(scratch.base(), kDead).path().empty());
  fs::create_directory(scratch.path / "agent-job.1.1");
  CHECK(abandoned_folders(scratch.base()).empty());
  fs::permissions(scratch.path, fs::perms(0700));
  CHECK_MESSAGE(AgentFolder::make(scratch.base(), kDead).path().empty(), "the name is taken");
  CHECK(AgentFolder::make(scratch.base(), Cookie{"../up", 1, 1}).path().empty());
}

TEST_CASE("of a file that a program wrote only the beginning is read, and no pipe is waited for") {
  const Scratch scratch;
  fs::create_directory(scratch.path);
  const std::string file = scratch.base() + "/file";
  CHECK(read_written_file(file, 10).empty());
  std::ofstream(file) << "0123456789abc";
  CHECK(read_written_file(file, 10) == "0123456789");
  CHECK(read_written_file(file, 100) == "0123456789abc");
  CHECK(read_written_file(scratch.base(), 10).empty());
  REQUIRE(::mkfifo((scratch.base() + "/pipe").c_str(), 0600) == 0);
  CHECK(read_written_file(scratch.base() + "/pipe", 10).empty());
  fs::create_symlink(file, scratch.path / "link");
  CHECK(read_written_file(scratch.base() + "/link", 10).empty());
}
