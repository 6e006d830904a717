// Tests of the checks of checkpoint.dir before the first save.
#include "engine/checkpoint/shared_folder.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "engine/checkpoint/folder_files.h"
#include "unit/checkpoint/folder.h"

namespace ds {
namespace {

using test::Folder;
using test::has;

const Deadline kNow = Deadline(Clock::time_point{});

std::string refusal(const auto& act) {
  try {
    act();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    CHECK(!error.hint().empty());
    return error.what();
  }
  return "no error";
}

TEST_CASE("the probe of rank 0 is seen only in the same folder") {
  const Folder place;
  const Folder other;
  leave_probe(place.path(), "4711abc");
  CHECK(sees_probe(place.path(), "4711abc", kNow));
  CHECK(!sees_probe(other.path(), "4711abc", kNow));
  CHECK(!sees_probe(place.path(), "4712", kNow));
  CHECK(!sees_probe(place.file("missing"), "4711abc", kNow));
  remove_probe(place.path(), "4711abc");
  remove_probe(place.path(), "4711abc");
  CHECK(names_in(place.path()).empty());
}

TEST_CASE("try_folder() leaves nothing in the folder") {
  const Folder place;
  try_folder(place.path(), 3);
  CHECK(measure_write_rate(place.path()) > 0);
  CHECK(names_in(place.path()).empty());
  test::write_text(place.file("file"), "");
  const auto tried = [](const std::string& dir) { return refusal([&] { try_folder(dir, 3); }); };
  CHECK(has(tried(place.file("missing")), place.file("missing") + " does not exist"));
  CHECK(has(tried(place.file("file")), "is not a folder"));
  CHECK(has(tried("/proc"), "checkpoint.dir /proc"));
  CHECK(has(refusal([] { leave_probe("/proc", "1"); }), "checkpoint.dir /proc"));
  CHECK(has(refusal([] { measure_write_rate("/proc"); }), "checkpoint.dir /proc"));
}

TEST_CASE("every reason has a clear message") {
  CHECK(has(folder_error("/d", EROFS).what(), "/d cannot be used: the file system is read-only"));
  CHECK(has(folder_error("/d", EACCES).what(), "no permission"));
  CHECK(has(folder_error("/d", ENOSPC).what(), "the disk is full"));
  CHECK(has(folder_error("/d", EDQUOT).what(), "the quota of this user is used up"));
  CHECK(has(folder_error("/d", ENOTDIR).what(), "/d is not a folder"));
}

TEST_CASE("an error about too little room has both numbers") {
  check_room("/d", 5 << 20, 5 << 20);
  const std::string text = refusal([] { check_room("/d", 3 << 20, 5 << 20); });
  CHECK(has(text, "checkpoint.dir /d: a checkpoint needs 5.0 MiB, but only 3.0 MiB are free"));
}

TEST_CASE("nodes that see another folder are each named once") {
  const Error error = other_folder_error("/d", "a", {{2, "b"}, {3, "b"}, {4, "c"}});
  CHECK(error.kind() == ErrorKind::config);
  CHECK(
      has(error.what(), "a file that rank 0 wrote on a is not visible on b (rank 2), c (rank 4)"));
}

}  // namespace
}  // namespace ds
