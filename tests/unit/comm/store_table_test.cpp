// Tests of StoreTable: set, set_new, get, wait, add, and which clients are woken.
#include "engine/comm/mesh/store_table.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>

using namespace ds::comm;

namespace {

struct Table {
  StoreTable table;
  std::uint32_t last_id = 0;
  // Returns the answers as "CLIENT kind value" lines.
  std::string ask(StoreTable::Client client, FrameKind kind, const std::string& key,
                  const std::string& value = "") {
    const auto due = table.on(client, {kind, ++last_id, key, value});
    if (!due) return "dropped";
    std::string text;
    for (const StoreTable::Outgoing& outgoing : *due) {
      text += std::to_string(outgoing.to) +
              (outgoing.frame.kind == FrameKind::answer ? " = " : " absent ") +
              outgoing.frame.value + ";";
    }
    return text;
  }
  std::string add(const std::string& key, std::int64_t step) {
    const auto due = table.on(1, {FrameKind::add, 0, key, encode_count(step)});
    return due ? std::to_string(decode_count(due->front().frame.value).value()) : "dropped";
  }
};

}  // namespace

TEST_CASE("set, get, set_new") {
  Table t;
  CHECK(t.ask(1, FrameKind::get, "k") == "1 absent ;");
  CHECK(t.ask(1, FrameKind::set, "k", "v") == "1 = ;");
  CHECK(t.ask(2, FrameKind::get, "k") == "2 = v;");
  CHECK(t.ask(2, FrameKind::set_new, "k", "w") == "2 = v;");
  CHECK(t.ask(2, FrameKind::set_new, "l", "w") == "2 = w;");
  CHECK(t.ask(1, FrameKind::set, "k", "x") == "1 = ;");
  CHECK(t.ask(1, FrameKind::wait, "k") == "1 = x;");
}

TEST_CASE("waiting clients are answered once, with the id of their request") {
  Table t;
  CHECK(t.ask(3, FrameKind::wait, "k").empty());
  CHECK(t.ask(2, FrameKind::wait, "k").empty());
  CHECK(t.ask(4, FrameKind::wait, "other").empty());
  const auto due = t.table.on(1, {FrameKind::set, 99, "k", "v"});
  REQUIRE(due);
  REQUIRE(due->size() == 3);
  CHECK((*due)[0].to == 1);
  CHECK((*due)[1].to == 2);
  CHECK((*due)[1].frame.id == 2);
  CHECK((*due)[2].to == 3);
  CHECK((*due)[2].frame.id == 1);
  CHECK(t.ask(1, FrameKind::set, "k", "w") == "1 = ;");
}

TEST_CASE("a wait that ended by a new request or by leaving is not answered") {
  Table t;
  CHECK(t.ask(1, FrameKind::wait, "k").empty());
  CHECK(t.ask(1, FrameKind::get, "x") == "1 absent ;");
  CHECK(t.ask(2, FrameKind::wait, "k").empty());
  t.table.forget(2);
  CHECK(t.ask(3, FrameKind::set, "k", "v") == "3 = ;");
}

TEST_CASE("add counts, wraps instead of overflowing, and refuses values that are not numbers") {
  Table t;
  CHECK(t.add("n", 2) == "2");
  CHECK(t.add("n", -5) == "-3");
  CHECK(t.add("max", std::numeric_limits<std::int64_t>::max()) == "9223372036854775807");
  CHECK(t.add("max", 1) == "-9223372036854775808");
  t.ask(1, FrameKind::set, "text", "abc");
  CHECK(t.add("text", 1) == "dropped");
  CHECK(t.ask(1, FrameKind::add, "n", "short") == "dropped");
}

TEST_CASE("answers are refused as requests, and the table is bounded") {
  Table t;
  CHECK(t.ask(1, FrameKind::answer, "k") == "dropped");
  CHECK(t.ask(1, FrameKind::introduce, "k") == "dropped");
  const std::string value(kMaxValue, 'x');
  int kept = 0;
  while (kept < 1000 && t.ask(1, FrameKind::set, std::to_string(kept), value) != "dropped") ++kept;
  CHECK(kept == 255);
  for (int i = 0; i < 1000; ++i) CHECK(t.ask(1, FrameKind::set, "0", "small") == "1 = ;");
}
