// Tests of --peers and --nnodes: properties of generated patterns, and errors.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>
#include <set>

#include "engine/base/error.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/sources/peers.h"

using namespace ds::launcher;

namespace {

std::string message(const char* text) {
  try {
    expand_peers("--peers", text);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::usage);
    CHECK_FALSE(error.hint().empty());
    const std::string what = error.what();
    return what.substr(0, what.find('\n'));
  }
  return "no error";
}

std::string count_message(const char* text) {
  try {
    const NodeCount count = parse_node_count("--nnodes", text);
    return fmt::format("{} to {}", count.least, count.most);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::usage);
    return error.what();
  }
}

}  // namespace

TEST_CASE("patterns of both kinds, lists of them, and mixtures") {
  using Names = std::vector<std::string>;
  CHECK(expand_peers("", "gpt-{0..3}.gpt") ==
        Names{"gpt-0.gpt", "gpt-1.gpt", "gpt-2.gpt", "gpt-3.gpt"});
  CHECK(expand_peers("", "gpt-[0-1,5].gpt") == Names{"gpt-0.gpt", "gpt-1.gpt", "gpt-5.gpt"});
  CHECK(expand_peers("", "n{08..10}") == Names{"n08", "n09", "n10"});
  CHECK(expand_peers("", "{a,b}-{0..1}") == Names{"a-0", "a-1", "b-0", "b-1"});
  CHECK(expand_peers("", "{a,b}[1-2]") == Names{"a1", "a2", "b1", "b2"});
  CHECK(expand_peers("", "m,w-{0..1} x,[::1]") == Names{"m", "w-0", "w-1", "x", "::1"});
  CHECK(expand_peers("", "10.0.0.{1..2}") == Names{"10.0.0.1", "10.0.0.2"});
  CHECK(expand_peers("", "n{0..65535}").size() == 65536);
}

TEST_CASE("what is no pattern is pointed at") {
  CHECK(message("") == "--peers: missing name");
  CHECK(message("a,,b") == "--peers: missing name");
  CHECK(message("a,b,") == "--peers: missing name");
  CHECK(message("a{0..1") == "--peers: unclosed '{'");
  CHECK(message("a}") == "--peers: '}' without a '{' before it");
  CHECK(message("a{0..x}") == "--peers: 'x' is not a number");
  CHECK(message("a{0..8..2}") == "--peers: '8..2' is not a number");
  CHECK(message("a{3..0}") == "--peers: the range 3..0 is reversed");
  CHECK(message("a{1}") == "--peers: braces contain a range such as {0..3} or words such as {a,b}");
  CHECK(message("a{b,}") == "--peers: missing word in braces");
  CHECK(message("a{{0..1}}") == "--peers: braces cannot be nested");
  CHECK(message("a[0-1") == "--peers: unclosed '['");
  CHECK(message("a,a") == "--peers: 'a' is named twice");
  CHECK(message("a{0..1},a[1-2]") == "--peers: 'a1' is named twice");
  CHECK(message("me@a") == "--peers: a peer cannot have a user, port or slots");
  CHECK(message("a:8") == "--peers: a peer cannot have a user, port or slots");
  CHECK(message("n{0..65536}") == "--peers: more than 65536 names");
  CHECK(message("n{0..300}-{0..300}") == "--peers: more than 65536 names");
  CHECK(message("n{0..300}[0-300]") == "--peers: more than 65536 names");
}

TEST_CASE("generated patterns give each name once, in order, and folding gives them back") {
  std::mt19937 random(11);
  const auto up_to = [&](unsigned most) { return static_cast<int>(random() % (most + 1)); };
  for (int trial = 0; trial < 500; ++trial) {
    std::string pattern;
    std::vector<std::string> names;
    const int items = 1 + up_to(3);
    for (int item = 0; item < items; ++item) {
      if (item > 0) pattern += up_to(1) == 0 ? "," : " ";
      const int low = up_to(20);
      const int high = low + up_to(12);
      const bool padded = up_to(1) == 0;
      const bool braces = up_to(1) == 0;
      const int width = padded ? 3 : 0;
      pattern += fmt::format("p{}-{}{:0{}}{}{:0{}}{}.s", item, braces ? '{' : '[', low, width,
                             braces ? ".." : "-", high, width, braces ? '}' : ']');
      const bool keeps_width = padded || low == 0;  // a number that begins with 0
      for (int value = low; value <= high; ++value)
        names.push_back(
            fmt::format("p{}-{:0{}}.s", item, value, keeps_width ? std::max(width, 1) : 0));
    }
    CAPTURE(pattern);
    const std::vector<std::string> seen = expand_peers("--peers", pattern);
    CHECK(seen == names);
    const std::vector<std::string> again = expand_peers("--peers", fold_names(seen));
    CHECK(std::set<std::string>(again.begin(), again.end()) ==
          std::set<std::string>(seen.begin(), seen.end()));
  }
}

TEST_CASE("any bytes give names or an error, never anything else") {
  std::mt19937 random(12);
  constexpr std::string_view kLetters = "ab-.019{}[],. \t@:\0/";
  for (int trial = 0; trial < 5000; ++trial) {
    std::string text;
    const auto length = random() % 16;
    for (unsigned i = 0; i < length; ++i) text += kLetters[random() % kLetters.size()];
    try {
      const auto names = expand_peers("--peers", text);
      CHECK_FALSE(names.empty());
      CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
    } catch (const ds::Error& error) {
      CHECK(error.kind() == ds::ErrorKind::usage);
    }
  }
}

TEST_CASE("numbers of nodes") {
  CHECK(count_message("4") == "4 to 4");
  CHECK(count_message("2:4") == "2 to 4");
  CHECK(count_message("65536") == "65536 to 65536");
  CHECK(count_message("4:2") == "--nnodes: minimum 4 is more than maximum 2");
  for (const char* bad : {"", "0", "-1", "x", "2:", ":2", "2:3:4", "65537", "2 "})
    CHECK(count_message(bad) ==
          fmt::format("--nnodes must be a number of nodes from 1 to 65536, not '{}'", bad));
}
