// Tests lists of sources, the shared reading of files, and writing below a folder.
#include "launcher/copy/copy_source.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "launcher/copy/copy_tree.h"
#include "launcher/copy/target_files.h"
#include "support/temp_folder.h"

using namespace ds::launcher::copy;

namespace {

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}
std::string text_of(SharedSource& source) {
  std::string read;
  for (auto piece = source.piece(0, 0); !piece.empty(); piece = source.piece(0, read.size()))
    read.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  return read;
}
std::optional<Digest> end_of(SharedSource& source) {
  std::optional<Digest> digest;
  for (int i = 0; i < 9 && !digest; ++i) digest = source.end(0);
  return digest;
}
std::vector<std::string> paths_of(const SourceList& list) {
  std::vector<std::string> paths;
  for (const CopyEntry& entry : list.entries) paths.push_back(entry.path);
  return paths;
}

}  // namespace

TEST_CASE("a folder is listed before its content; parts of other copies are not copied") {
  const ds::test::TempFolder folder;
  const std::string root = folder / ".";
  std::filesystem::create_directories(root + "/d/e");
  write_text(root + "/d/e/a b", "x");
  write_text(root + "/d/.f.dslaunch-part", "x");
  std::filesystem::create_symlink("/etc", root + "/d/l");
  const SourceList list = list_sources({root + "/d/"}, true);
  CHECK(paths_of(list) == std::vector<std::string>{"d", "d/e", "d/e/a b", "d/l"});
  CHECK(list.entries[3].kind == EntryKind::link);
  CHECK(list.entries[3].link == "/etc");
  CHECK(list.problem.empty());
}

TEST_CASE("without -r a folder is refused; so is what does not exist or has no name") {
  const ds::test::TempFolder folder;
  const std::string root = folder / ".";
  CHECK(list_sources({root}, false).problem == root + ": is a folder; copy folders with -r");
  CHECK(list_sources({root + "/no", root + "/none"}, false).problem ==
        root + "/no: No such file or directory (and 1 more)");
  CHECK(list_sources({"/"}, true).problem.starts_with("/: has no name"));
}

TEST_CASE("two sources with one last name would be one file at the target") {
  ds::test::TempFolder folder;
  const std::string root = folder / ".";
  for (const char* name : {"x", "y"}) {
    std::filesystem::create_directory(folder / name);
    std::ofstream(folder / (std::string(name) + "/conf")) << name;
  }
  const SourceList list = list_sources({root + "/x/conf", root + "/y/conf"}, false);
  CHECK(list.entries.size() == 1);
  CHECK(list.problem == root + "/y/conf: has the same name as another source; copy it in a command "
                               "of its own");
}

TEST_CASE("a link in the place of a listed file or folder is not followed") {
  ds::test::TempFolder folder;
  std::ofstream(folder / "a") << "mine";
  std::ofstream(folder / "secret") << "your";
  const SourceList list = list_sources({folder / "a"}, true);
  REQUIRE(list.places.size() == 1);
  std::filesystem::last_write_time(folder / "secret",
                                   std::filesystem::last_write_time(folder / "a"));
  std::filesystem::remove(folder / "a");
  std::filesystem::create_symlink(folder / "secret", folder / "a");
  const SourceFile file(list.entries[0], list.places[0]);
  CHECK(file.problem() == folder / "a" + " changed while it was copied; copy it again");
}

TEST_CASE("pieces and digests of a file, also of its beginning") {
  const ds::test::TempFolder folder;
  const std::string path = folder / "a";
  std::string text(3 * SharedSource::kBlock + 17, 'x');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 + i / 253);
  write_text(path, text);
  SharedSource source(list_sources({path}, false), 9);
  CHECK(text_of(source) == text);
  for (const std::size_t size : {text.size(), SharedSource::kBlock + 5}) {
    Hasher hasher(9);
    hasher.add(std::as_bytes(std::span(text).first(size)));
    std::optional<Digest> digest;
    for (int i = 0; i < 9 && !digest; ++i) digest = source.digest(0, size);
    REQUIRE(digest);
    CHECK(*digest == hasher.digest());
  }
}

TEST_CASE("a digest of the whole file that is asked for first") {
  const ds::test::TempFolder folder;
  const std::string path = folder / "a";
  const std::string text(7 * SharedSource::kBlock, 'y');
  write_text(path, text);
  SharedSource source(list_sources({path}, false), 1);
  (void)source.piece(0, 2 * SharedSource::kBlock);
  std::optional<Digest> digest;
  for (int i = 0; i < 9 && !digest; ++i) digest = source.digest(0, text.size());
  Hasher hasher(1);
  hasher.add(std::as_bytes(std::span(text)));
  REQUIRE(digest);
  CHECK(*digest == hasher.digest());
}

TEST_CASE("a file that changes while it is copied") {
  const ds::test::TempFolder folder;
  const std::string path = folder / "a";
  write_text(path, "hello");
  SharedSource source(list_sources({path}, false), 1);
  write_text(path, "hell");
  CHECK(source.piece(0, 0).empty());
  CHECK(source.problem(0) == path + " changed while it was copied; copy it again");
}

TEST_CASE("a log that grows while it is copied is copied as far as it was") {
  const ds::test::TempFolder folder;
  const std::string path = folder / "a";
  write_text(path, "hello");
  SharedSource source(list_sources({path}, false), 1);
  write_text(path, "hello world");
  CHECK(text_of(source) == "hello");
  Hasher hasher(1);
  hasher.add(std::as_bytes(std::span("hello", 5)));
  CHECK(source.end(0) == hasher.digest());
  CHECK(source.problem(0).empty());
  CHECK(source.grown(0));
}

TEST_CASE("a larger file that is written over a source while it is read is a change") {
  const ds::test::TempFolder folder;
  const std::string path = folder / "a";
  write_text(path, std::string(3 * SharedSource::kBlock, 'o'));
  SharedSource source(list_sources({path}, false), 1);
  CHECK_FALSE(source.piece(0, 0).empty());
  write_text(path, std::string(4 * SharedSource::kBlock, 'n'));
  CHECK(text_of(source).ends_with("n"));
  CHECK(end_of(source));
  CHECK(source.problem(0) == path + " changed while it was copied; copy it again");
}

TEST_CASE("a file that grew is read once more, a few megabytes at a time") {
  const ds::test::TempFolder folder;
  const std::string path = folder / "a";
  const std::string text(9 * SharedSource::kBlock, 'x');
  write_text(path, text);
  SharedSource source(list_sources({path}, false), 1);
  CHECK(text_of(source) == text);
  write_text(path, text + "more");
  CHECK_FALSE(source.end(0));
  CHECK(end_of(source) == source.digest(0, text.size()));
  CHECK(source.problem(0).empty());
  CHECK(source.end(0));  // not again for the next node
}

TEST_CASE("a file that grows while a node sends it, and one over which another is written") {
  const ds::test::TempFolder folder;
  const std::string path = folder / "a";
  const std::string old(3 * kPieceBytes, 'o');
  const auto end_after = [&](const std::string& now) {
    write_text(path, old);
    const SourceList list = list_sources({path}, false);
    CopyEnd end;
    serve_file(list.entries[0], list.places[0], {}, 1, [&](const CopyMessage& message) {
      if (const auto* known = std::get_if<CopyEnd>(&message)) end = *known;
      if (const auto* data = std::get_if<CopyData>(&message); data != nullptr && data->offset == 0)
        write_text(path, now);
    });
    CHECK(end.grown);
    return end.problem;
  };
  CHECK(end_after(old + "more").empty());
  CHECK(end_after(std::string(old.size() + 1, 'n')) ==
        path + " changed while it was copied; copy it again");
}

TEST_CASE("files that do not tell their size are copied as they are read") {
  for (const char* path : {"/proc/sys/kernel/ostype", "/sys/devices/system/cpu/online"}) {
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (text.empty()) continue;  // no /sys here
    SharedSource source(list_sources({path}, false), 1);
    REQUIRE(source.entries().size() == 1);
    CHECK(source.entries()[0].size == text.size());
    CHECK(text_of(source) == text);
    CHECK(source.end(0));
    CHECK(source.problem(0).empty());
    CHECK_FALSE(source.grown(0));
  }
  const ds::test::TempFolder folder;
  write_text(folder / "empty", "");
  CHECK(list_sources({folder / "empty"}, false).entries.at(0).size == 0);
  CHECK(list_sources({"/proc/self/mem"}, false).problem.starts_with("/proc/self/mem: "));
}

TEST_CASE("pipes in a folder are skipped; one that is named is refused") {
  const ds::test::TempFolder folder;
  std::filesystem::create_directory(folder / "d");
  write_text(folder / "d/file", "x");
  for (const char* name : {"d/p", "d/q"}) REQUIRE(::mkfifo((folder / name).c_str(), 0600) == 0);
  const SourceList list = list_sources({folder / "d"}, true);
  CHECK(paths_of(list) == std::vector<std::string>{"d", "d/file"});
  CHECK(list.problem.empty());
  CHECK(list.skipped ==
        "skipped " + (folder / "d/p") + ": is not a file, folder or link (and 1 more)");
  CHECK(list_sources({folder / "d/q"}, true).problem ==
        folder / "d/q" + ": is not a file, folder or link");
}

TEST_CASE("nothing is written through a link, whoever made it") {
  const ds::test::TempFolder folder;
  const std::string root = folder / ".";
  std::filesystem::create_directories(root + "/base");
  std::filesystem::create_directories(root + "/outside");
  std::filesystem::create_symlink(root + "/outside", root + "/base/way");
  write_text(root + "/outside/target", "old");
  std::filesystem::create_symlink(root + "/outside/target", root + "/base/file");
  TargetFiles files(ds::UniqueFd(::open((root + "/base").c_str(), O_RDONLY | O_DIRECTORY)), "",
                    false);
  CHECK(files.open("way/x", 0).find("a folder on the path is a link") != std::string::npos);
  CHECK_FALSE(files.make_folder("way/y").empty());
  CHECK_FALSE(files.make_link("way/z", "/etc").empty());
  CopyEntry entry;
  entry.path = "file";
  REQUIRE(files.open("file", 0).empty());
  REQUIRE(files.write(std::as_bytes(std::span("new", 3))).empty());
  CHECK(files.commit(entry).empty());
  std::string text;
  std::ifstream(root + "/outside/target") >> text;
  CHECK(text == "old");
  CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(root + "/base/file")));
  CHECK(std::filesystem::is_empty(root + "/outside") == false);
  CHECK_FALSE(std::filesystem::exists(root + "/outside/x"));
}

TEST_CASE("the temporary name fits where the name fits") {
  CHECK(part_name("a") == ".a.dslaunch-part");
  CHECK(part_name(std::string(255, 'n')).size() <= 255);
  CHECK(part_name(std::string(254, 'n') + "a") != part_name(std::string(254, 'n') + "b"));
}

TEST_CASE("each sender of the tree gets its number of children, the first ones first") {
  CopyTree tree(2);
  CHECK_FALSE(tree.parent_for_new_node());
  tree.add(0);
  CHECK_FALSE(tree.parent_for_new_node());
  tree.add(1);
  CHECK(tree.parent_for_new_node() == 0);
  CHECK(tree.parent_for_new_node() == 0);
  CHECK(tree.parent_for_new_node() == 1);
  tree.remove(1);
  CHECK_FALSE(tree.parent_for_new_node());  // nobody has room: the root
}
