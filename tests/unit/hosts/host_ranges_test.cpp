// Tests of ranges: vectors of docs/hostfile.md, and properties of generated expressions.
#include "launcher/hosts/host_ranges.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>
#include <set>

#include "unit/hosts/doc_vectors.h"

using namespace ds::launcher;

namespace {

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, " "));
}

std::vector<std::string> expanded(const std::string& expression) {
  auto result = expand_host_ranges(expression);
  REQUIRE_MESSAGE(result.index() == 0, expression);
  return std::get<0>(std::move(result));
}

}  // namespace

TEST_CASE("ranges expand as docs/hostfile.md says") {
  const auto rows = ds::test::doc_vectors("Ranges");
  CHECK(rows.size() >= 30);
  for (const auto& row : rows) {
    CAPTURE(row.input);
    const auto result = expand_host_ranges(row.input);
    if (const auto* problem = std::get_if<RangeProblem>(&result)) {
      CHECK(row.is_error);
      CHECK(fmt::format("{}: {}", problem->offset, problem->message) == row.expected);
    } else {
      CHECK_FALSE(row.is_error);
      CHECK(joined(std::get<0>(result)) == row.expected);
    }
  }
}

TEST_CASE("the largest allowed expansion works, one more does not") {
  CHECK(expanded("n[0-65535]").size() == kMaxHosts);
  CHECK(expanded("n[0-255]m[0-255]").size() == kMaxHosts);
  CHECK(expand_host_ranges("n[0-65535]m[0-1]").index() == 1);
  CHECK(expand_host_ranges("n[0-65535,0]").index() == 1);
}

TEST_CASE("names come out once each, as many as the ranges multiply to, in counting order") {
  std::mt19937 random(7);
  const auto up_to = [&](unsigned most) { return static_cast<int>(random() % (most + 1)); };
  for (int trial = 0; trial < 500; ++trial) {
    std::string expression;
    std::size_t count = 1;
    const int brackets = up_to(3);
    for (int i = 0; i < brackets; ++i) {
      const int lo = up_to(120);
      const int hi = lo + up_to(5);
      const int width = up_to(4);
      expression += fmt::format("x[{:0{}}-{}]", lo, width, hi);
      count *= static_cast<std::size_t>(hi - lo + 1);
    }
    expression += "-end";
    CAPTURE(expression);
    const std::vector<std::string> names = expanded(expression);
    CHECK(names.size() == count);
    CHECK(std::set<std::string>(names.begin(), names.end()).size() == count);
    for (const std::string& name : names) CHECK(expanded(name) == std::vector<std::string>{name});
  }
}

TEST_CASE("a list of the expanded numbers expands to the same names") {
  const std::vector<std::string> once = expanded("node[007-023]");
  std::string list;
  for (const std::string& name : once)
    list += fmt::format("{}{}", list.empty() ? "" : ",", name.substr(4));
  CHECK(expanded(fmt::format("node[{}]", list)) == once);
}
