// The table of ranks for debuggers: its entries, its texts, and what the symbols show.
#include "launcher/job/mpir_table.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "unit/job/job_helpers.h"

using namespace ds::launcher;

TEST_CASE("the table names host, program and pid of each rank, in order of ranks") {
  Placement placement = placement_of(2, 2);
  placement.ranks[3].group = 1;
  MpirTable table = mpir_table(placement, {"/bin/a", "b"}, {11, 12, 21, 22});
  const MpirTable moved = std::move(table);
  REQUIRE(moved.ranks.size() == 4);
  const std::string hosts[] = {"n0", "n0", "n1", "n1"};
  const std::string programs[] = {"/bin/a", "/bin/a", "/bin/a", "b"};
  const int pids[] = {11, 12, 21, 22};
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CAPTURE(rank);
    CHECK(moved.ranks[rank].host_name == hosts[rank]);
    CHECK(moved.ranks[rank].executable_name == programs[rank]);
    CHECK(moved.ranks[rank].pid == pids[rank]);
  }
}

TEST_CASE("a program is named as a debugger opens it") {
  CHECK(mpir_executable("/bin/a", "/home/ann") == "/bin/a");
  CHECK(mpir_executable("./a", "/home/ann") == "/home/ann/a");
  CHECK(mpir_executable("a", "/home/ann") == "a");
  CHECK(mpir_executable("../a", "/home/ann/") == "/home/a");
}

TEST_CASE("the symbols show a table while its ranks run") {
  {
    MpirView view;
    view.show(mpir_table(placement_of(1, 2), {"a"}, {11, 12}));
    CHECK(MPIR_debug_state == kMpirSpawned);
    REQUIRE(MPIR_proctable_size == 2);
    CHECK(MPIR_proctable[1].pid == 12);
    view.show(mpir_table(placement_of(1, 1), {"a"}, {13}));
    REQUIRE(MPIR_proctable_size == 1);
    CHECK(MPIR_proctable[0].pid == 13);
    view.abort("rank 0 failed");
    CHECK(MPIR_debug_state == kMpirAborting);
    CHECK(std::string(MPIR_debug_abort_string) == "rank 0 failed");
    CHECK(MPIR_proctable_size == 1);
  }
  CHECK(MPIR_debug_state == kMpirNull);
  CHECK(MPIR_proctable_size == 0);
  CHECK(MPIR_proctable == nullptr);
  CHECK(MPIR_debug_abort_string == nullptr);
}
