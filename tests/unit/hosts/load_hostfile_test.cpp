// Tests of loading hostfiles: missing, unreadable and oversized files, and includes.
#include "launcher/hosts/hostfile.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engine/base/error.h"

using namespace ds::launcher;
namespace fs = std::filesystem;

namespace {

/// Temporary folder, removed at the end.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (fs::temp_directory_path() / "hostfile_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { fs::remove_all(path_); }

  [[nodiscard]] std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }
  [[nodiscard]] std::string path() const { return path_; }

 private:
  fs::path path_;
};

std::string error_of(const std::string& path) {
  try {
    load_hostfile(path);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    return error.for_people();
  }
  return "none";
}

}  // namespace

TEST_CASE("a file is read whole, and its name stands in errors") {
  const TempFolder folder;
  CHECK(load_hostfile(folder.file("good", "a slots=2\nb\n")).size() == 2);
  const std::string bad = folder.file("bad", "a slots=x\n");
  CHECK(error_of(bad).starts_with(bad + ":1:9: slots must be an integer, not 'x'\n"));
  const std::string empty = folder.file("empty", "");
  CHECK(error_of(empty).starts_with(empty + ": the file names no host\n"));
}

TEST_CASE("a missing file, a directory and a file too large are named with a hint") {
  const TempFolder folder;
  const std::string missing = folder.path() + "/missing";
  CHECK(error_of(missing) ==
        "cannot read hostfile " + missing +
            ": No such file or directory\n"
            "  hint: check --hostfile; relative paths start at the current directory");
  CHECK(error_of(folder.path()) == "cannot read hostfile " + folder.path() +
                                       ": Is a directory\n"
                                       "  hint: --hostfile takes a file, not a directory");
  const std::string large = folder.file("large", std::string((16U << 20U) + 1, '\n'));
  CHECK(error_of(large) ==
        "hostfile " + large +
            " is larger than 16 MiB\n"
            "  hint: check that this is a hostfile, with one host or one range per line");
}

TEST_CASE("included files lie beside the one that names them; a ring is an error") {
  const TempFolder folder;
  fs::create_directory(folder.path() + "/racks");
  const std::string top = folder.file("top", "a\ninclude racks/one\n");
  static_cast<void>(folder.file("racks/one", "b slots=2\ninclude two"));
  static_cast<void>(folder.file("racks/two", "c\n"));
  CHECK(load_hostfile(top).size() == 3);
  static_cast<void>(folder.file("racks/two", "include ../racks/one\n"));
  const std::string one = folder.path() + "/racks/../racks/one";
  CHECK(error_of(top) == one + " includes itself\n  included by " + folder.path() +
                             "/racks/two:1\n  included by " + folder.path() +
                             "/racks/one:2\n  included by " + top + ":2");
  static_cast<void>(folder.file("racks/two", "include none"));
  CHECK(error_of(top).ends_with(
      "\n  hint: relative paths start at the folder of the including file"));
}

TEST_CASE("a file without read permission is named with a hint") {
  const TempFolder folder;
  const std::string locked = folder.file("locked", "a");
  fs::permissions(locked, fs::perms::none);
  if (::access(locked.c_str(), R_OK) == 0) {
    MESSAGE("skipped: this user may read every file");
    return;
  }
  CHECK(error_of(locked) == "cannot read hostfile " + locked +
                                ": Permission denied\n"
                                "  hint: check the file's permissions");
}
