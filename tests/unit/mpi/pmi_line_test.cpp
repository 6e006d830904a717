// Tests how bytes of a PMI connection become requests, in any pieces.
#include "launcher/mpi/pmi_line.h"

#include <doctest/doctest.h>

using namespace ds::launcher;

namespace {

/// "put kvsname=k key=a|get key=b", and "!" with the problem.
std::string requests_of(std::string_view bytes, std::size_t piece) {
  PmiReader reader;
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    reader.feed(bytes.substr(at, piece));
    while (const auto request = reader.next()) {
      if (!text.empty()) text += '|';
      text += (request->of_pmi2 ? "2:" : "") + request->command;
      for (const auto& [name, value] : request->attributes) text += " " + name + "=" + value;
    }
  }
  return reader.problem() ? text + "!" + *reader.problem() : text;
}

std::string requests_in_any_pieces(std::string_view bytes) {
  const std::string whole = requests_of(bytes, bytes.size() + 1);
  for (const std::size_t piece : {1, 2, 7}) CHECK(requests_of(bytes, piece) == whole);
  return whole;
}

}  // namespace

TEST_CASE("requests, in any pieces") {
  CHECK(requests_in_any_pieces("cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_maxes\n") ==
        "init pmi_version=1 pmi_subversion=1|get_maxes");
  CHECK(requests_in_any_pieces("cmd=put kvsname=k key=a value=b=c \n") ==
        "put kvsname=k key=a value=b=c");
  CHECK(requests_in_any_pieces("cmd=put key=a value=\n") == "put key=a value=");
  CHECK(requests_in_any_pieces("cmd=abort exitcode=3 message=out of luck = x\n") ==
        "abort exitcode=3 message=out of luck = x");
  CHECK(requests_in_any_pieces("cmd=get_maxes").empty());
}

TEST_CASE("a spawn request is as many parts as it says") {
  const std::string one = "mcmd=spawn\nnprocs=1\nexecname=./a b\ntotspawns=2\nendcmd\n";
  CHECK(requests_in_any_pieces(one).empty());
  CHECK(requests_in_any_pieces(one + one + "cmd=finalize\n") == "spawn|finalize");
  CHECK(requests_in_any_pieces("mcmd=spawn\nendcmd\n") == "spawn");
}

TEST_CASE("anything else is one problem, and nothing comes after it") {
  for (const std::string bytes :
       {"", "get_maxes", "cmd", "cmd=", "=x", "key=a cmd=get", "cmd=get key", "cmd=get =b",
        "cmd=\x01", "\x7f", "GET / HTTP/1.1"}) {
    CAPTURE(bytes);
    const std::string text = requests_in_any_pieces(bytes + "\ncmd=get_maxes\n");
    CHECK(text.starts_with("!sent an invalid PMI request: '"));
    CHECK(text.find("get_maxes'") == (bytes == "get_maxes" ? text.size() - 10 : std::string::npos));
  }
}

TEST_CASE("an overlong line is a problem before its end comes") {
  PmiReader reader;
  reader.feed("cmd=put key=" + std::string(PmiReader::kMaxLine, 'k'));
  CHECK_FALSE(reader.next());
  REQUIRE(reader.problem());
  CHECK(
      reader.problem()->starts_with("sent a PMI request of more than 8192 bytes: 'cmd=put key=kk"));
  CHECK(reader.problem()->size() < 150);
}

TEST_CASE("a request that is not whole") {
  PmiReader reader;
  CHECK_FALSE(reader.is_inside());
  reader.feed("cmd=get");
  CHECK_FALSE(reader.next());
  CHECK(reader.is_inside());
  reader.feed("_maxes\n");
  CHECK(reader.next());
  CHECK_FALSE(reader.next());
  CHECK_FALSE(reader.is_inside());
  reader.feed("mcmd=spawn\n");
  CHECK_FALSE(reader.next());
  CHECK(reader.is_inside());
}

TEST_CASE("numbers are whole") {
  CHECK(pmi_number("-3") == -3);
  for (const char* text : {"", "x", "1x", " 1", "1.5", "99999999999"})
    CHECK_FALSE(pmi_number(text));
}

TEST_CASE("requests of PMI-2, in any pieces, also after lines") {
  CHECK(requests_in_any_pieces(
            "cmd=init pmi_version=2\n    18cmd=kvs-get;key=a;    14cmd=kvs-fence;") ==
        "init pmi_version=2|2:kvs-get key=a|2:kvs-fence");
  CHECK(requests_in_any_pieces("000026cmd=put;key=a;value=b;;c;;") == "2:put key=a value=b;c;");
  CHECK(requests_in_any_pieces("    14cmd=a;b=;c=d e") == "2:a b= c=d e");
  CHECK(requests_in_any_pieces("14    cmd=kvs-fence;") == "2:kvs-fence");
  CHECK(requests_in_any_pieces("    15cmd=a;").empty());
}

TEST_CASE("a request of PMI-2 that is wrong") {
  for (const std::string bytes : {"     0", "     4cmd=", "     8cmd=;a=b", "     5key=a",
                                  "     7cmd=a;b", "    11cmd=a;cmd=b", "     6cmd=a\n", "    -1",
                                  "  1  1", "1x    ", "      ", "12 monkeys"}) {
    CAPTURE(bytes);
    CHECK(requests_in_any_pieces(bytes).starts_with("!sent an invalid PMI request: '"));
  }
  CHECK(requests_in_any_pieces("999999cmd=kvs-put;key=")
            .starts_with("!sent a PMI request of more than 65536 bytes: '999999'"));
}
