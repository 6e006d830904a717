// dshbak: which lines have a host, the order of hosts, and their ranges.
#include "launcher/disguise/dshbak.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"

using namespace ds::launcher;

namespace {

std::string rule() { return "----------------\n"; }

}  // namespace

TEST_CASE("dshbak: lines of a host stand together") {
  HostLines lines;
  for (const char* line : {"n10: a\n", "n2: b\n", " n10 :  c\n", "no host\n", "n2:d\n", "n2: cut"})
    lines.add(line);
  CHECK(lines.text(false) ==
        rule() + "n2\n" + rule() + "b\nd\n" + rule() + "n10\n" + rule() + "a\n c\n");
  HostLines odd;
  for (const char* line : {"fe80::1: x\n", "::y: z\n", "a b: c\n", ":\n", "\n", "x: \n"})
    odd.add(line);
  const auto& texts = odd.by_host();
  CHECK(texts.size() == 3);
  CHECK(texts.at("fe80") == ":1: x\n");
  CHECK(texts.at(":") == "y: z\n");
  CHECK(texts.at("x") == "\n");
}

TEST_CASE("dshbak: equal outputs are printed once") {
  HostLines lines;
  for (const char* line : {"n3: same\n", "n1: same\n", "n2: other\n", "n4: same\n"})
    lines.add(line);
  CHECK(lines.text(true) ==
        rule() + "n[1,3-4]\n" + rule() + "same\n" + rule() + "n2\n" + rule() + "other\n");
}

TEST_CASE("dshbak: ranges") {
  CHECK(dshbak_ranges({"n1", "n2", "n3", "n5"}) == "n[1-3,5]");
  CHECK(dshbak_ranges({"n1"}) == "n1");
  CHECK(dshbak_ranges({"n1", "n2"}) == "n[1-2]");
  CHECK(dshbak_ranges({"a08", "a09", "a10", "a011"}) == "a[08-10,011]");
  CHECK(dshbak_ranges({"a099", "a100"}) == "a[099-100]");
  CHECK(dshbak_ranges({"a9", "a10"}) == "a[9-10]");
  CHECK(dshbak_ranges({"n1-ib", "n2-ib", "n4-ib"}) == "n[1-2,4]-ib");
  CHECK(dshbak_ranges({"login", "n0", "n1"}) == "login,n[0-1]");
  CHECK(dshbak_ranges({"b1", "a1", "a2"}) == "a[1-2],b1");
  CHECK(dshbak_ranges({"n99999999999999999999", "n99999999999999999998"}) ==
        "n[99999999999999999998,99999999999999999999]");
}

TEST_CASE("dshbak: options") {
  const std::vector<std::string> words = {"-fd", "out", "a", "b"};
  const DshbakWords read = read_dshbak(words);
  CHECK(read.make_folder);
  CHECK(read.folder == "out");
  CHECK(read.files == std::vector<std::string>{"a", "b"});
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"-c", "-d", "x"}, {"-f"}, {"-x"}, {"-d"}})
    CHECK_THROWS_AS(read_dshbak(wrong), ds::Error);
}
