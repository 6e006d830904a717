// The genders database: lines, values, queries.
#include "launcher/groups/genders.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/base/error.h"

namespace {

using ds::launcher::Genders;

constexpr std::string_view kText =
    "# two racks\nlogin1\tlogin\nnode[1-2] compute,rack=1,name=%n-ib%%\r\n node3,node4 "
    "compute,rack=2 # more\nnode4 big\nbare\n";

std::string matching(std::string_view query) {
  return fmt::format("{}", fmt::join(Genders(kText, "genders").query(query), " "));
}

std::string query_failure(std::string_view query) {
  try {
    matching(query);
  } catch (const ds::Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a node has the attributes of all its lines") {
  const Genders genders(kText, "genders");
  CHECK(genders.nodes().size() == 6);
  REQUIRE(genders.find("node2") != nullptr);
  CHECK(genders.find("node2")->attributes.at("name") == "node2-ib%");
  CHECK(genders.find("node4")->attributes.size() == 3);
  CHECK(genders.find("bare")->attributes.empty());
  CHECK(genders.find("node9") == nullptr);
  CHECK(genders.find_by("name", "node1-ib%")->name == "node1");
  CHECK(fmt::format("{}", fmt::join(genders.attributes(), " ")) == "big compute login name rack");
}

TEST_CASE("queries") {
  CHECK(matching("compute") == "node1 node2 node3 node4");
  CHECK(matching("rack=2") == "node3 node4");
  CHECK(matching("rack") == "node1 node2 node3 node4");
  CHECK(matching("rac").empty());
  CHECK(matching("login||rack=1") == "login1 node1 node2");
  CHECK(matching("compute && rack=2 -- big") == "node3");
  CHECK(matching("compute--big||login") == "login1 node1 node2 node3");
  CHECK(matching("~(compute||login)") == "bare");
  CHECK(matching("~~big") == "node4");
  CHECK(matching("") == "login1 node1 node2 node3 node4 bare");
}

TEST_CASE("malformed queries and files are named") {
  CHECK(query_failure("a||") == "genders query 'a||': an attribute is missing");
  CHECK(query_failure("(a") == "genders query '(a': a ')' is missing");
  CHECK(query_failure("a b") == "genders query 'a b': 'b' is not expected");
  CHECK(query_failure("a)") == "genders query 'a)': ')' is not expected");
  CHECK(query_failure(std::string(100, '(')).ends_with("it has too many parentheses"));
  try {
    Genders("ok x\nnode[1- compute\n", "/etc/genders");
    FAIL("accepted");
  } catch (const ds::Error& error) {
    CHECK(std::string(error.what()).starts_with("/etc/genders:2:5: unclosed '['"));
  }
}
