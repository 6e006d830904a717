// Tests of Slurm's lists of nodes and counts.
#include "launcher/slurm/node_list.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace ds::launcher;

namespace {

std::string names(const std::string& list) {
  const auto result = expand_node_list(list);
  if (const auto* problem = std::get_if<RangeProblem>(&result))
    return fmt::format("{}: {}", problem->offset, problem->message);
  return fmt::format("{}", fmt::join(std::get<0>(result), " "));
}

std::string counts(const std::string& list) {
  const auto result = expand_counts(list);
  return result ? fmt::format("{}", fmt::join(*result, " ")) : "bad";
}

}  // namespace

TEST_CASE("node lists as Slurm writes them, and as people do") {
  CHECK(names("") == "");
  CHECK(names(" , ,\n") == "");
  CHECK(names("n1") == "n1");
  CHECK(names("n[1-3,07],login") == "n1 n2 n3 n07 login");
  CHECK(names("n[9-11],n[09-11]") == "n9 n10 n11 n09 n10 n11");
  CHECK(names("n[00-2]") == "n00 n01 n02");
  CHECK(names("n[1-2]x[0-1]-ib b,,c") == "n1x0-ib n1x1-ib n2x0-ib n2x1-ib b c");
  CHECK(names("[1-3]") == "1 2 3");
  CHECK(names("n3,n1,n1") == "n3 n1 n1");
}

TEST_CASE("what is wrong is told with its byte in the whole list") {
  CHECK(names("a,n[1") == "3: unclosed '['");
  CHECK(names("a n]") == "3: ']' without a '[' before it");
  CHECK(names("a,n[3-1]") == "4: the range 3-1 is reversed");
  CHECK(names("a,n[]") == "4: missing number in brackets");
  CHECK(names("n[1,x]") == "4: missing number in brackets");
  CHECK(names("n[0-65536]").ends_with("more than 65536 hosts in one expression"));
  CHECK(names("a,n[0-65535]") == "2: more than 65536 nodes in one list");
}

TEST_CASE("counts") {
  CHECK(counts("2(x3),1") == "2 2 2 1");
  CHECK(counts("72") == "72");
  CHECK(counts("0") == "0");
  for (const char* bad : {"", ",", "2,", "2(x0)", "2(x3", "2(3)", "x", "2(x3)1", "-1", "2 ",
                          "1(x65537)", "99999999999"})
    CHECK_MESSAGE(counts(bad) == "bad", bad);
}
