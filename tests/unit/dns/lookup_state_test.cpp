// Tests of a lookup's policy: which name is asked of which server, and the result.
#include "launcher/dns/lookup_state.h"

#include <doctest/doctest.h>

using namespace ds::launcher;
using namespace std::chrono_literals;
using Kind = DnsAnswer::Kind;

namespace {

const std::vector<std::string> kPodNames = {"g.ns.svc.cluster.local", "g.svc.cluster.local",
                                            "g.cluster.local", "g"};

DnsAnswer has(const std::string& address) {
  return {Kind::addresses, {asio::ip::make_address(address)}, {}, {}};
}
const DnsAnswer kNoAddress{Kind::no_address, {}, {}, 7s};
const DnsAnswer kNoName{Kind::no_name, {}, {}, 5s};
const DnsAnswer kServFail{Kind::failed, {}, "SERVFAIL", {}};
const DnsAnswer kRefused{Kind::failed, {}, "REFUSED", {}};
const DnsAnswer kSilent{Kind::silent, {}, "within 3 s", {}};

std::vector<std::string> texts(const LookupState& state) {
  std::vector<std::string> texts;
  for (const auto& address : state.end().value().addresses) texts.push_back(address.to_string());
  return texts;
}

}  // namespace

TEST_CASE("an address at the first name ends the lookup") {
  LookupState state(kPodNames, {"10.0.0.10"});
  CHECK(state.name() == "g.ns.svc.cluster.local");
  CHECK(state.server() == "10.0.0.10");
  state.on_answers(has("10.1.0.1"), kNoAddress);
  CHECK(texts(state) == std::vector<std::string>{"10.1.0.1"});
  CHECK(state.end()->problem == DnsProblem::none);
}

TEST_CASE("IPv4 comes before IPv6, each address once; one type is enough") {
  LookupState both({"g"}, {"10.0.0.10"});
  DnsAnswer twice = has("10.1.0.1");
  twice.addresses.push_back(twice.addresses[0]);
  both.on_answers(twice, has("fd00::7"));
  CHECK(texts(both) == std::vector<std::string>{"10.1.0.1", "fd00::7"});
  LookupState six({"g"}, {"10.0.0.10"});
  six.on_answers(kServFail, has("fd00::7"));
  CHECK(texts(six) == std::vector<std::string>{"fd00::7"});
  LookupState lost({"g"}, {"10.0.0.10"});
  lost.on_answers(has("10.1.0.1"), kSilent);
  CHECK(texts(lost) == std::vector<std::string>{"10.1.0.1"});
}

TEST_CASE("a name that is nowhere is asked once for each candidate; the first problem counts") {
  LookupState state(kPodNames, {"10.0.0.10"});
  for (int i = 0; i < 3; ++i) {
    CHECK(state.name() == kPodNames[static_cast<std::size_t>(i)]);
    state.on_answers(kNoName, kNoName);
  }
  state.on_answers(kServFail, kServFail);
  REQUIRE(state.end());
  CHECK(state.end()->problem == DnsProblem::no_record);
  CHECK(state.end()->text ==
        "no DNS record (NXDOMAIN from 10.0.0.10); for g: SERVFAIL from 10.0.0.10");
  CHECK(state.end()->negative_ttl == 5s);
}

TEST_CASE("a name without an address and a name that is not one have texts of their own") {
  LookupState nodata({"g"}, {"10.0.0.10"});
  nodata.on_answers(kSilent, kNoAddress);
  CHECK(nodata.end()->problem == DnsProblem::no_record);
  CHECK(nodata.end()->text == "no DNS record (no address from 10.0.0.10)");
  CHECK(nodata.end()->negative_ttl == 7s);
  LookupState bad({"a..b"}, {"10.0.0.10"});
  bad.on_answers({Kind::bad_name, {}, {}, {}}, {Kind::bad_name, {}, {}, {}});
  CHECK(bad.end()->text == "no DNS record (not a domain name)");
}

TEST_CASE("the next server replaces one that is silent or fails, and stays in use") {
  LookupState state({"a", "b"}, {"10.0.0.10", "10.0.0.11", "10.0.0.12"});
  state.on_answers(kSilent, kSilent);
  CHECK(state.server() == "10.0.0.11");
  state.on_answers(kServFail, kServFail);
  CHECK(state.server() == "10.0.0.12");
  CHECK(state.name() == "a");
  state.on_answers(kNoName, kNoName);
  CHECK(state.server() == "10.0.0.12");
  CHECK(state.name() == "b");
  state.on_answers(kSilent, kSilent);
  CHECK(state.server() == "10.0.0.10");
  state.on_answers(has("10.1.0.1"), kNoAddress);
  CHECK(texts(state) == std::vector<std::string>{"10.1.0.1"});
}

TEST_CASE("silence of every server ends the lookup without the other names") {
  LookupState state(kPodNames, {"10.0.0.10", "10.0.0.11"});
  state.on_answers(kSilent, kSilent);
  state.on_answers(kSilent, kSilent);
  REQUIRE(state.end());
  CHECK(state.end()->problem == DnsProblem::no_answer);
  CHECK(state.end()->text ==
        "no answer from name server 10.0.0.10 within 3 s, "
        "no answer from name server 10.0.0.11 within 3 s");
}

TEST_CASE("servers that fail are named with their error codes, and the next name is asked") {
  LookupState state({"a", "b"}, {"10.0.0.10", "10.0.0.11"});
  state.on_answers(kServFail, kSilent);
  state.on_answers(kRefused, kRefused);
  CHECK(state.name() == "b");
  state.on_answers(kNoName, kNoName);
  CHECK(state.end()->problem == DnsProblem::server_failed);
  CHECK(state.end()->text ==
        "SERVFAIL from 10.0.0.10, no answer from name server 10.0.0.10 within 3 s, "
        "REFUSED from 10.0.0.11");
}

TEST_CASE("the end of the time ends a lookup between two names and between two servers") {
  LookupState names({"a", "b", "c"}, {"10.0.0.10"});
  names.on_answers(kServFail, kServFail);
  names.on_answers(kSilent, kSilent, true);
  CHECK(names.end()->problem == DnsProblem::server_failed);
  CHECK(names.end()->text ==
        "SERVFAIL from 10.0.0.10; for b: no answer from name server 10.0.0.10 within 3 s");
  LookupState servers({"a"}, {"10.0.0.10", "10.0.0.11"});
  servers.on_answers(kSilent, kSilent, true);
  CHECK(servers.end()->problem == DnsProblem::no_answer);
}

TEST_CASE("the time of a wait is written with two digits") {
  CHECK(within_text(3s) == "within 3 s");
  CHECK(within_text(1512ms) == "within 1.5 s");
}
