// Tests that ranks of two kinds of MPI library in one job are found.
#include "launcher/mpi/library_kinds.h"

#include <doctest/doctest.h>

using namespace ds::launcher;

namespace {

MpiInit by_pmi(int rank) { return {.rank = rank, .wire = MpiWire::pmi1}; }
MpiInit by_pmix(int rank) { return {.rank = rank, .wire = MpiWire::pmix}; }

}  // namespace

TEST_CASE("a rank by PMI and a rank by PMIx are found, whichever comes first") {
  LibraryKinds kinds;
  CHECK_FALSE(kinds.take(by_pmi(3)));
  CHECK_FALSE(kinds.take(by_pmi(4)));
  CHECK(kinds.take(by_pmix(0)) == 3);
  LibraryKinds other;
  CHECK_FALSE(other.take(by_pmix(0)));
  CHECK(other.take(by_pmi(3)) == 0);
  other.begin();
  CHECK_FALSE(other.take(by_pmi(3)));
}

TEST_CASE("each rank may run a program of one kind after a program of the other") {
  LibraryKinds kinds;
  for (const int rank : {0, 1}) CHECK_FALSE(kinds.take(by_pmix(rank)));
  CHECK_FALSE(kinds.take(by_pmi(1)));
  CHECK_FALSE(kinds.take(by_pmi(0)));
  CHECK_FALSE(kinds.take(by_pmi(0)));
}
