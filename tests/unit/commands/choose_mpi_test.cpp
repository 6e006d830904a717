// Tests which programs are offered PMI-1 or PMIx, and which are refused because their ranks would
// not meet.
#include "launcher/commands/start/choose_mpi.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"
#include "launcher/disguise/mpi_library.h"
#include "support/place_ranks.h"

using namespace ds::launcher;

namespace {

Placement ranks(int count) {
  std::vector<Host> hosts(1);
  hosts[0].slots = count;
  return place_ranks(hosts, std::nullopt, 0);
}

const MpiProgram kPlain{"./plain", std::nullopt};
const MpiProgram kMpich{"./a.out", "libmpich.so.12"};
const MpiProgram kOpenMpi{"./b.out", "libmpi.so.40"};

std::string refused(MpiChoice choice, const std::vector<MpiProgram>& programs,
                    const Placement& placement = ranks(2)) {
  try {
    choose_mpi(choice, programs, placement);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("an MPI library's name says how it finds its peers") {
  for (const char* name : {"libmpich.so.12", "libmpi.so.12", "libmpichcxx.so.12",
                           "libmpifort.so.12", "libmpicxx.so.12"})
    CHECK(wire_of_library(name) == MpiWire::pmi1);
  for (const char* name : {"libmpi.so.40", "libmpi_cxx.so.40", "libmpi_mpifh.so.40"})
    CHECK(wire_of_library(name) == MpiWire::pmix);
  for (const char* name : {"libmpi.so.20", "libmpi_gnu_91.so.12", "libc.so.6", ""})
    CHECK(wire_of_library(name) == MpiWire::none);
}

TEST_CASE("automatically, programs get what their library needs, others nothing") {
  CHECK(choose_mpi(MpiChoice::automatic, {kMpich}, ranks(2)) == MpiWire::pmi1);
  CHECK(choose_mpi(MpiChoice::automatic, {kMpich, kMpich}, ranks(2)) == MpiWire::pmi1);
  CHECK(choose_mpi(MpiChoice::automatic, {kPlain}, ranks(2)) == MpiWire::none);
  CHECK(choose_mpi(MpiChoice::automatic, {kMpich}, ranks(1)) == MpiWire::pmi1);
  CHECK(choose_mpi(MpiChoice::automatic, {kOpenMpi}, ranks(2)) == MpiWire::pmix);
}

TEST_CASE("Python code that imports mpi4py gets both, or what a program beside it needs") {
  const MpiProgram script{.name = "python3", .is_indirect = true};
  CHECK(choose_mpi(MpiChoice::automatic, {script}, ranks(2)) == MpiWire::any);
  CHECK(choose_mpi(MpiChoice::automatic, {script}, ranks(1)) == MpiWire::none);
  CHECK(choose_mpi(MpiChoice::none, {script}, ranks(2)) == MpiWire::none);
  CHECK(choose_mpi(MpiChoice::automatic, {script, kMpich}, ranks(2)) == MpiWire::pmi1);
  CHECK(refused(MpiChoice::automatic, {script, kPlain}) ==
        "python3 uses MPI by its libraries or by mpi4py, but ./plain with no MPI library");
}

TEST_CASE("any offers both to programs that do not name a library, and else as auto") {
  CHECK(choose_mpi(MpiChoice::any, {kPlain}, ranks(2)) == MpiWire::any);
  CHECK(choose_mpi(MpiChoice::any, {kPlain, kMpich}, ranks(2)) == MpiWire::any);
  CHECK(choose_mpi(MpiChoice::any, {kMpich}, ranks(2)) == MpiWire::pmi1);
  CHECK(choose_mpi(MpiChoice::any, {kOpenMpi}, ranks(2)) == MpiWire::pmix);
  CHECK(choose_mpi(MpiChoice::any, {kPlain}, ranks(1)) == MpiWire::none);
}

TEST_CASE("what was asked for counts") {
  CHECK(choose_mpi(MpiChoice::pmi1, {kPlain}, ranks(2)) == MpiWire::pmi1);
  CHECK(choose_mpi(MpiChoice::pmi1, {kPlain, kMpich}, ranks(2)) == MpiWire::pmi1);
  CHECK(choose_mpi(MpiChoice::pmi2, {kPlain}, ranks(2)) == MpiWire::pmi1);
  CHECK(choose_mpi(MpiChoice::none, {kMpich}, ranks(2)) == MpiWire::none);
  CHECK(choose_mpi(MpiChoice::none, {kOpenMpi}, ranks(2)) == MpiWire::none);
  CHECK(choose_mpi(MpiChoice::pmix, {kPlain, kMpich}, ranks(2)) == MpiWire::pmix);
  CHECK(choose_mpi(MpiChoice::pmix, {kOpenMpi}, ranks(1)) == MpiWire::pmix);
}

TEST_CASE("ranks that would each be a world of their own are refused") {
  CHECK(refused(MpiChoice::pmi1, {kOpenMpi}) ==
        "./b.out is linked with libmpi.so.40, which needs PMIx");
  CHECK(refused(MpiChoice::automatic, {{"./c.out", "libmpi_gnu_91.so.12"}}) ==
        "./c.out is linked with libmpi_gnu_91.so.12, which dslaunch does not know");
  CHECK(refused(MpiChoice::automatic, {kMpich, kOpenMpi}) ==
        "./a.out is linked with libmpich.so.12, but ./b.out is linked with libmpi.so.40: they "
        "cannot be one MPI job");
  CHECK(choose_mpi(MpiChoice::automatic, {kOpenMpi}, ranks(1)) == MpiWire::none);
  CHECK(refused(MpiChoice::automatic, {kMpich, kPlain}) ==
        "./a.out is linked with libmpich.so.12, but ./plain with no MPI library");
}

TEST_CASE("one dslaunch must start all ranks of an MPI job") {
  Placement part = ranks(1);
  make_part(part, 1, 2, {});
  CHECK(refused(MpiChoice::automatic, {kMpich}, part) ==
        "ranks of an MPI job cannot be started by several launchers");
  CHECK(choose_mpi(MpiChoice::automatic, {kPlain}, part) == MpiWire::none);
  CHECK(choose_mpi(MpiChoice::automatic, {{.name = "python3", .is_indirect = true}}, part) ==
        MpiWire::none);
}
