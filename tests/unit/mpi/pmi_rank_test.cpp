// Tests the requests of one rank, with the replies that MPICH's client expects.
#include "launcher/mpi/pmi_rank.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace ds::launcher;

namespace {

constexpr const char* kInit = "cmd=init pmi_version=1 pmi_subversion=1\n";

PmiRank new_rank() { return PmiRank({.space = "kvs", .size = 4, .appnum = 2}); }
PmiRank ready_rank() {
  PmiRank rank = new_rank();
  rank.take(kInit);
  return rank;
}

struct StepText {
  std::string operator()(const PmiReply& s) const { return s.text; }
  std::string operator()(const PmiPut& s) const { return "put " + s.key + " " + s.value; }
  std::string operator()(const PmiGet& s) const { return "get " + s.key; }
  std::string operator()(const PmiJoin&) const { return "join"; }
  std::string operator()(const PmiLeave&) const { return "leave"; }
  std::string operator()(const PmiRefusal& s) const { return "refused " + s.what; }
  std::string operator()(const PmiFailure& s) const {
    return fmt::format("failed {}: {}", s.code, s.text);
  }
};
std::string text_of(const std::vector<PmiStep>& steps) {
  std::string text;
  for (const PmiStep& step : steps)
    text += (text.empty() ? "" : "; ") + std::visit(StepText{}, step);
  return text;
}

}  // namespace

TEST_CASE("what a rank asks of its job") {
  PmiRank rank = new_rank();
  CHECK(text_of(rank.take(kInit)) == "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  CHECK(text_of(rank.take("cmd=get_maxes\n")) ==
        "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
  CHECK(text_of(rank.take("cmd=get_universe_size\n")) == "cmd=universe_size size=4\n");
  CHECK(text_of(rank.take("cmd=get_appnum\n")) == "cmd=appnum appnum=2\n");
  CHECK(text_of(rank.take("cmd=get_my_kvsname\n")) == "cmd=my_kvsname kvsname=kvs\n");
}

TEST_CASE("keys and values, and those that are refused without an end") {
  PmiRank rank = ready_rank();
  CHECK(text_of(rank.take("cmd=put kvsname=kvs key=a value=b\n")) == "put a b");
  CHECK(text_of(rank.take("cmd=get kvsname=kvs key=a\n")) == "get a");
  const auto put = [&](const std::string& key, const std::string& value) {
    return text_of(rank.take("cmd=put kvsname=kvs key=" + key + " value=" + value + "\n"));
  };
  CHECK(put(std::string(64, 'k'), std::string(1024, 'v')).starts_with("put kkk"));
  CHECK(put(std::string(65, 'k'), "v") == "cmd=put_result rc=-1 msg=key_longer_than_64_bytes\n");
  CHECK(put("k", std::string(1025, 'v')) ==
        "cmd=put_result rc=-1 msg=value_longer_than_1024_bytes\n");
  CHECK(text_of(rank.take("cmd=put kvsname=kvs key=a\n")) == "cmd=put_result rc=-1 msg=no_value\n");
  CHECK(text_of(rank.take("cmd=get kvsname=kvs\n")) ==
        "cmd=get_result rc=-1 msg=no_key value=unknown\n");
  CHECK(text_of(rank.take("cmd=get kvsname=other key=a\n")) ==
        "cmd=get_result rc=-1 msg=unknown_kvsname value=unknown\n");
}

TEST_CASE("a fence, and the end") {
  PmiRank rank = ready_rank();
  CHECK(text_of(rank.take("cmd=barrier_in\n")) == "join");
  CHECK(rank.waits());
  CHECK(rank.release() == "cmd=barrier_out\n");
  CHECK_FALSE(rank.waits());
  CHECK(text_of(rank.take("cmd=finalize\n")) == "leave");
  CHECK(text_of(rank.take("cmd=barrier_in\n")) ==
        "failed 1: joined an MPI fence after it had finalized");
}

TEST_CASE("MPI_Abort, also in a fence and without init") {
  CHECK(text_of(new_rank().take("cmd=abort exitcode=7\n")) == "failed 7: called MPI_Abort(7)");
  CHECK(text_of(new_rank().take("cmd=abort exitcode=7 message=no luck\n")) ==
        "failed 7: called MPI_Abort(7): no luck");
  CHECK(text_of(new_rank().take("cmd=abort\n")) == "failed 1: called MPI_Abort(1)");
  PmiRank waits = ready_rank();
  waits.take("cmd=barrier_in\n");
  CHECK(text_of(waits.take("cmd=abort exitcode=0\n")) == "failed 0: called MPI_Abort(0)");
}

TEST_CASE("services that do not exist here are refused by name, and the rank goes on") {
  PmiRank rank = ready_rank();
  CHECK(text_of(rank.take("mcmd=spawn\nnprocs=2\nexecname=a\nendcmd\ncmd=get_appnum\n")) ==
        "refused MPI_Comm_spawn; cmd=spawn_result rc=-1 msg=not_supported_by_dslaunch\n; "
        "cmd=appnum appnum=2\n");
  CHECK(text_of(rank.take("cmd=lookup_name service=s\n")) ==
        "refused MPI_Lookup_name; cmd=lookup_result rc=-1 msg=not_supported_by_dslaunch\n");
}

TEST_CASE("what breaks the protocol ends the connection once") {
  const auto after_init = [](std::string_view bytes) { return text_of(ready_rank().take(bytes)); };
  CHECK(after_init("hello\n") == "failed 1: sent an invalid PMI request: 'hello'");
  CHECK(after_init("cmd=fly\n") == "failed 1: sent an unknown PMI request: 'fly'");
  CHECK(after_init("cmd=barrier_in\ncmd=get_maxes\n") ==
        "join; failed 1: sent a PMI request while it waited in a fence");
  CHECK(text_of(new_rank().take("cmd=get_maxes\n")) ==
        "failed 1: sent a PMI request before 'init'");
  CHECK(text_of(new_rank().take("cmd=init pmi_version=2 pmi_subversion=0\n")) ==
        "failed 1: wants version 2 of PMI, and dslaunch speaks version 1");
  PmiRank rank = ready_rank();
  rank.take("hello\n");
  CHECK(rank.take("cmd=get_maxes\n").empty());
}
