// Tests of ResumeSearch: which checkpoint is chosen, and the messages about it.
#include "engine/checkpoint/find_checkpoint.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "engine/base/error.h"
#include "engine/checkpoint/folder_files.h"
#include "engine/checkpoint/text_form.h"
#include "support/small_save.h"
#include "unit/checkpoint/folder.h"

namespace ds {
namespace {

namespace fs = std::filesystem;
using test::Folder;
using test::has;
using test::save_small;
using test::write_text;

using Names = std::vector<std::string>;

void save_steps(const std::string& dir, std::initializer_list<int> steps,
                const Origin& origin = {}) {
  const SaveFolder folder(dir, 1);
  for (const int step : steps) save_small(folder, step, 2, origin);
}

std::int64_t step_taken(const Resumed& found) {
  REQUIRE(found.checkpoint);
  return found.checkpoint->manifest().state.step;
}

Resumed first(const ResumeRequest& request) { return ResumeSearch(request).next(); }

Error refusal(const ResumeRequest& request) {
  try {
    first(request);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error;
  }
  FAIL("no error");
  return {ErrorKind::bug, ""};
}

TEST_CASE("a newer version is refused, and no older checkpoint is used instead") {
  const Folder place;
  save_steps(place.path(), {20, 40});
  const std::string path = place.file("step-00000040/manifest.json");
  std::string text = read_whole(path);
  const std::string version = fmt::format("\"version\": {},", kCheckpointVersion);
  REQUIRE(text.find(version) != std::string::npos);
  text.replace(text.find(version), version.size(), "\"version\": 99,");
  text.resize(text.rfind(kSealBefore));
  const std::string checksum = checksum_of_text(text);
  write_text(path, fmt::format("{}{}{}{}", text, kSealBefore, checksum, kSealAfter));
  const Error error = refusal({"auto", "all", place.path()});
  CHECK(has(error.what(), "step-00000040/manifest.json: it has format version 99"));
  CHECK(has(error.hint(), "use the program that wrote it"));
  fs::remove(path);
  CHECK(step_taken(first({"auto", "all", place.path()})) == 20);
}

TEST_CASE("checkpoint.dir must be a folder if it exists") {
  const Folder place;
  write_text(place.file("file"), "text");
  CHECK(has(refusal({"auto", "all", place.file("file")}).what(), "is not a folder"));
  CHECK(has(refusal({"auto", "all", place.file("file/below")}).what(), "is not a folder"));
}

TEST_CASE("auto: the newest complete checkpoint, or step 0 if there is none") {
  const Folder place;
  CHECK(!first({"auto", "all", ""}).checkpoint);
  CHECK(!first({"auto", "all", place.file("missing")}).checkpoint);
  CHECK(!first({"auto", "all", place.path()}).checkpoint);
  fs::create_directory(place.file("step-00000090.tmp-1"));
  fs::create_directory(place.file("step-00000090.removed-1"));
  fs::create_directory(place.file("step-00000090.set-aside"));
  CHECK(!first({"auto", "all", place.path()}).checkpoint);
  save_steps(place.path(), {20, 100000000, 40}, {"/from", "weights"});
  write_text(place.file("latest"), "step-00000020\n");
  const Resumed found = first({"auto", "weights", place.path()});
  CHECK(step_taken(found) == 100000000);
  CHECK(found.load == "all");
  CHECK(found.origin == Origin{"/from", "weights"});
  CHECK(found.lines.empty());
  CHECK(ResumeSearch({"auto", "all", place.path()}).newest() == 100000000);
  CHECK(ResumeSearch({"auto", "all", place.file("missing")}).newest() == -1);
  CHECK(ResumeSearch({"never", "all", place.path()}).newest() == INT64_MAX);
  CHECK(!first({"never", "all", place.path()}).checkpoint);
  CHECK(has(refusal({"auto", "all", place.file("latest")}).what(), "latest is not a folder"));
}

TEST_CASE("a checkpoint that does not verify is skipped with a line that says why") {
  const Folder place;
  save_steps(place.path(), {10, 20, 30, 40, 50, 60});
  fs::remove(place.file("step-00000060/manifest.json"));
  std::string text = test::read_text(place.file("step-00000050/manifest.json"));
  text[text.find("\"step\"") + 1] = 'S';
  write_text(place.file("step-00000050/manifest.json"), text);
  fs::remove(place.file("step-00000040/rank-00001.chunk"));
  fs::resize_file(place.file("step-00000030/rank-00000.chunk"), 100);
  ResumeSearch search({"auto", "all", place.path()});
  CHECK(search.places().size() == 6);
  const Resumed found = search.next();
  CHECK(step_taken(found) == 20);
  REQUIRE(found.lines.size() == 4);
  for (const int i : {0, 1, 2, 3}) {
    CAPTURE(found.lines[i]);
    CHECK(has(found.lines[i], "checkpoint skipped: "));
    CHECK(has(found.lines[i], place.file("step-000000" + std::to_string(60 - 10 * i))));
  }
  CHECK(has(found.lines[0], "manifest.json"));
  CHECK(has(found.lines[1], "checksum"));
  CHECK(has(found.lines[2], "rank-00001.chunk"));
  CHECK(has(found.lines[3], "rank-00000.chunk"));

  const Resumed older = search.next("step-00000020: a piece is broken");
  CHECK(step_taken(older) == 10);
  CHECK(older.lines == Names{"checkpoint skipped: step-00000020: a piece is broken"});
  try {
    search.next("step-00000010: too");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    CHECK(has(error.what(), place.file("step-00000060")));
    CHECK(has(error.what(), "(and 5 more)"));
    CHECK(has(error.hint(), "never"));
  }
}

TEST_CASE("never: only a restart of the same job resumes from its own checkpoints") {
  const Folder place;
  save_steps(place.path(), {80});
  ResumeRequest request{.resume = "never", .dir = place.path(), .job = "a1"};
  const Resumed begun = first(request);
  CHECK(!begun.checkpoint);
  CHECK(begun.lines.empty());
  request.is_restart = true;
  CHECK(!first(request).checkpoint);
  save_steps(place.path(), {20, 40}, begun.origin);
  const Resumed found = first(request);
  CHECK(step_taken(found) == 40);
  CHECK(found.origin == begun.origin);
  CHECK(found.lines.size() == 1);
  for (const char* other : {"a2", ""})
    CHECK(!first({.resume = "never", .dir = place.path(), .job = other, .is_restart = true})
               .checkpoint);
  request.is_restart = false;
  CHECK(!first(request).checkpoint);
}

TEST_CASE("a replaced checkpoint that still exists can be used") {
  const Folder place;
  save_steps(place.path(), {20, 40});
  fs::rename(place.file("step-00000040"), place.file("step-00000040.replaced-9"));
  CHECK(step_taken(first({"auto", "all", place.path()})) == 40);
  fs::create_directory(place.file("step-00000040"));
  const Resumed found = first({"auto", "all", place.path()});
  CHECK(step_taken(found) == 40);
  CHECK(found.lines.size() == 1);
}

TEST_CASE("a path: a checkpoint, its manifest, a folder of them, latest, links") {
  const Folder place;
  const std::string run = place.file("run \xc3\xa4");
  save_steps(run, {20, 40});
  fs::create_directory_symlink(run, place.file("link"));
  fs::copy(run + "/step-00000020", place.file("best"));
  fs::copy(run + "/step-00000020", run + "/step-00000070.set-aside");
  const auto step_at = [&](const std::string& path) {
    CAPTURE(path);
    const Resumed found = first({path, "weights", ""});
    CHECK(found.load == "weights");
    CHECK(found.origin.load == "weights");
    CHECK(fs::path(found.origin.path).is_absolute());
    return step_taken(found);
  };
  CHECK(step_at(run) == 40);
  CHECK(step_at(run + "/") == 40);
  CHECK(step_at(place.file("link")) == 40);
  CHECK(step_at(run + "/step-00000020") == 20);
  CHECK(step_at(run + "/step-00000020/manifest.json") == 20);
  CHECK(step_at(place.file("best")) == 20);
  CHECK(step_at(run + "/step-00000070.set-aside") == 20);
  write_text(run + "/latest", "step-00000020\n");
  CHECK(step_at(run + "/latest") == 20);
  CHECK(step_at(run) == 40);
  const std::string path = origin_path(run + "/step-00000020");
  for (const char* same : {"/step-00000020/", "/./step-00000020", "/step-00000020/manifest.json",
                           "/step-00000040/../step-00000020"}) {
    CHECK(origin_path(run + same) == path);
  }
  CHECK(origin_path(place.file("link/step-00000020")) == path);
}

TEST_CASE("a path that is not a checkpoint: the error says what is there and what is nearby") {
  const Folder place;
  save_steps(place.file("runs/a"), {20, 40});
  const auto refused = [&](const std::string& path, const char* what, const char* hint) {
    const Error error = refusal({path, "all", ""});
    CAPTURE(error.for_people());
    CHECK(has(error.what(), "checkpoint.resume " + path));
    CHECK(has(error.what(), what));
    CHECK(has(error.hint(), hint));
  };
  refused(place.path(), "contains runs", "runs/a/step-00000040");
  refused(place.file("runs/a/step-00000041"), "does not exist", "runs/a/step-00000040");
  refused(place.file("runs/a/step-00000040/rank-00000.chunk"), "is a file other than manifest.json",
          "runs/a/step-00000040");
  fs::create_directory(place.file("runs/empty"));
  refused(place.file("runs/empty"), "is an empty folder", "specify a checkpoint");
  fs::rename(place.file("runs/a/step-00000020"), place.file("runs/a/step-00000020.tmp-1"));
  refused(place.file("runs/a/step-00000020.tmp-1"), "was never completed", "step-00000040");
  fs::rename(place.file("runs/a/step-00000020.tmp-1"),
             place.file("runs/a/step-00000020.removed-1"));
  refused(place.file("runs/a/step-00000020.removed-1"), "half-removed", "step-00000040");
  fs::remove(place.file("runs/a/step-00000040/manifest.json"));
  refused(place.file("runs/a/step-00000040"), "it contains rank-00000.chunk, rank-00001.chunk",
          "specify");
}

TEST_CASE("an unreadable checkpoint at a path is an error") {
  const Folder place;
  save_steps(place.path(), {20, 40});
  write_text(place.file("step-00000040/manifest.json"), "{");
  const Error error = refusal({place.file("step-00000040"), "all", ""});
  CHECK(has(error.what(), place.file("step-00000040")));
  CHECK(step_taken(first({place.path(), "all", ""})) == 20);
  const Error none = refusal({place.file("step-00000040"), "all", place.file("dir")});
  CHECK(has(none.what(), "manifest.json"));
}

TEST_CASE("a job that is started again resumes from its own checkpoints, not from the path") {
  const Folder place;
  const std::string path = place.file("base/step-00000090");
  const std::string dir = place.file("dir");
  save_steps(place.file("base"), {90});
  const ResumeRequest request{path, "weights", dir};
  CHECK(step_taken(first(request)) == 90);
  const Origin origin = first(request).origin;

  save_steps(dir, {5}, {"/another", "weights"});
  save_steps(dir, {6}, {origin.path, "all"});  // all of the same path: another run
  save_steps(dir, {7});
  CHECK(step_taken(first(request)) == 90);
  CHECK(first(request).lines.empty());

  save_steps(dir, {3, 4}, origin);
  ResumeSearch search(request);
  const Resumed found = search.next();
  CHECK(step_taken(found) == 4);
  CHECK(found.load == "all");
  CHECK(found.origin == origin);
  REQUIRE(found.lines.size() == 1);
  CHECK(has(found.lines[0], "resuming from " + dir + "/step-00000004, not from " + path));
  CHECK(step_taken(search.next("broken")) == 3);
  const Resumed at_path = search.next("broken too");
  CHECK(step_taken(at_path) == 90);
  CHECK(at_path.load == "weights");

  fs::remove_all(place.file("base"));  // the run's origin may be removed
  CHECK(step_taken(first(request)) == 4);
  CHECK(step_taken(first({"auto", "all", dir})) == 7);
}

}  // namespace
}  // namespace ds
