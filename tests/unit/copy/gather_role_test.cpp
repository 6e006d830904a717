// Tests that a node which `rcopy` asks for files cannot write outside of the folder of the root,
// and which files count as grown.
#include "launcher/copy/gather_role.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "support/temp_folder.h"

using namespace ds::launcher::copy;

namespace {

struct HostileNode {
  ds::test::TempFolder folder;
  RoleContext context;
  std::unique_ptr<GatherRole> role;

  HostileNode() {
    std::filesystem::create_directories(folder / "outside");
    context.names = {"node1"};
    context.streams.resize(1);
    context.outcomes.resize(1);
    context.flush = [](int) {};
    role = std::make_unique<GatherRole>(context, CopyTask{.gather = true}, folder / "own");
  }
  void says(const CopyMessage& message) { role->on_message(0, message); }
  void lists(std::uint32_t id, EntryKind kind, const std::string& path, std::string link = {}) {
    CopyEntry entry;
    entry.id = id;
    entry.kind = kind;
    entry.path = path;
    entry.link = std::move(link);
    entry.size = kind == EntryKind::file ? 4 : 0;
    says(entry);
  }
  void sends(std::uint32_t id) { says(CopyData{id, 0, std::as_bytes(std::span("evil", 4))}); }
  [[nodiscard]] std::string problem() const { return context.outcomes[0].problem; }
  [[nodiscard]] bool outside_is_empty() const {
    return std::filesystem::is_empty(folder / "outside");
  }
};

}  // namespace

TEST_CASE("paths that leave the folder end the copy of the node") {
  for (const char* path : {"../outside/x", "/tmp/x", "a/../../outside/x", "", "."}) {
    CAPTURE(path);
    HostileNode node;
    node.lists(0, EntryKind::file, path);
    node.sends(0);
    CHECK(node.problem().find("leaves the folder") != std::string::npos);
    CHECK(node.outside_is_empty());
  }
}

TEST_CASE("a link out of the folder is a link, and nothing is written through it") {
  HostileNode node;
  node.lists(0, EntryKind::link, "a", node.folder / "outside");
  node.lists(1, EntryKind::file, "a/x");
  node.sends(1);
  CHECK(node.problem().find("is a link or a file") != std::string::npos);
  CHECK(node.outside_is_empty());
  CHECK(std::filesystem::is_symlink(node.folder / "own/a.node1"));

  HostileNode other;  // a link first, then a file of the same name
  other.lists(0, EntryKind::link, "a", other.folder / "outside/x");
  other.lists(1, EntryKind::file, "a");
  other.sends(1);
  Hasher hasher;
  hasher.add(std::as_bytes(std::span("evil", 4)));
  other.says(CopyEnd{1, hasher.digest(), {}});
  CHECK(other.outside_is_empty());
  CHECK(std::filesystem::is_regular_file(
      std::filesystem::symlink_status(other.folder / "own/a.node1")));
}

TEST_CASE("bytes that were not asked for end the copy of the node") {
  HostileNode node;
  node.sends(7);
  CHECK(node.problem().find("invalid data") != std::string::npos);
}

TEST_CASE("a file that grew on its node is counted once it is here") {
  for (const bool whole : {true, false}) {
    CAPTURE(whole);
    HostileNode node;
    node.lists(0, EntryKind::file, "log");
    node.sends(0);
    Hasher hasher;
    hasher.add(std::as_bytes(std::span(whole ? "evil" : "good", 4)));
    node.says(CopyEnd{0, hasher.digest(), {}, true});
    CHECK(node.context.outcomes[0].grown.count == (whole ? 1U : 0U));
    CHECK(node.problem().empty() == whole);
  }
}
