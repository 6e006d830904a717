// Tests the requests of one rank, with the replies that MPICH's client expects.
#include "launcher/mpi/pmi_rank.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "unit/mpi/pmi_frame.h"

using namespace ds::launcher;

namespace {

constexpr const char* kInit = "cmd=init pmi_version=1 pmi_subversion=1\n";
constexpr const char* kInit2 = "cmd=init pmi_version=2 pmi_subversion=0\n";

struct StepText {
  std::string operator()(const PmiReply& s) const { return s.text; }
  std::string operator()(const PmiPut& s) const {
    return (s.scope == PmiScope::node ? "put to node " : "put ") + s.key + " " + s.value;
  }
  std::string operator()(const PmiGet& s) const {
    return std::string(s.waits ? "wait for " : "get ") +
           (s.scope == PmiScope::node ? "of node " : "") + s.key;
  }
  std::string operator()(const PmiName& s) const {
    constexpr const char* kKinds[] = {"publish ", "look up ", "withdraw "};
    return kKinds[static_cast<int>(s.kind)] + s.name + (s.port.empty() ? "" : " " + s.port);
  }
  std::string operator()(const PmiJoin&) const { return "join"; }
  std::string operator()(const PmiLeave& s) const { return "leave " + s.text; }
  std::string operator()(const PmiRefusal& s) const { return "refused " + s.what + ", " + s.text; }
  std::string operator()(const PmiFailure& s) const {
    return fmt::format("{} {}: {}", s.is_abort ? "aborted" : "failed", s.code, s.text);
  }
};

/// Returns the steps of all bytes, with "; " between them.
std::string take(PmiRank& rank, std::string_view bytes) {
  std::string text;
  rank.feed(bytes);
  while (const std::optional<PmiStep> step = rank.next())
    text += (text.empty() ? "" : "; ") + std::visit(StepText{}, *step);
  return text;
}

PmiRank new_rank() { return PmiRank({.space = "kvs", .size = 4, .appnum = 2, .rank = 3}); }
PmiRank ready_rank(std::string_view init = kInit) {
  PmiRank rank = new_rank();
  take(rank, init);
  return rank;
}
std::string after_init(std::string_view bytes) {
  PmiRank rank = ready_rank();
  return take(rank, bytes);
}
std::string before_init(std::string_view bytes) {
  PmiRank rank = new_rank();
  return take(rank, bytes);
}

std::string after_init_2(const std::string& body) {
  PmiRank rank = ready_rank(kInit2);
  return take(rank, framed(body));
}

}  // namespace

TEST_CASE("what a rank asks of its job") {
  PmiRank rank = new_rank();
  CHECK(take(rank, kInit) == "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  CHECK(take(rank, "cmd=get_maxes\n") ==
        "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
  CHECK(take(rank, "cmd=get_universe_size\n") == "cmd=universe_size size=4\n");
  CHECK(take(rank, "cmd=get_appnum\n") == "cmd=appnum appnum=2\n");
  CHECK(take(rank, "cmd=get_my_kvsname\n") == "cmd=my_kvsname kvsname=kvs\n");
}

TEST_CASE("keys and values, and those that are refused without an end") {
  PmiRank rank = ready_rank();
  CHECK(take(rank, "cmd=put kvsname=kvs key=a value=b\n") == "put a b");
  CHECK(take(rank, "cmd=get kvsname=kvs key=a\n") == "get a");
  const auto put = [&](const std::string& key, const std::string& value) {
    return take(rank, ("cmd=put kvsname=kvs key=" + key + " value=" + value + "\n"));
  };
  CHECK(put(std::string(64, 'k'), std::string(1024, 'v')).starts_with("put kkk"));
  CHECK(put(std::string(65, 'k'), "v") == "cmd=put_result rc=-1 msg=key_longer_than_64_bytes\n");
  CHECK(put("k", std::string(1025, 'v')) ==
        "cmd=put_result rc=-1 msg=value_longer_than_1024_bytes\n");
  CHECK(take(rank, "cmd=put kvsname=kvs key=a\n") == "cmd=put_result rc=-1 msg=no_value\n");
  CHECK(take(rank, "cmd=get kvsname=kvs\n") == "cmd=get_result rc=-1 msg=no_key value=unknown\n");
  CHECK(take(rank, "cmd=get kvsname=other key=a\n") ==
        "cmd=get_result rc=-1 msg=unknown_kvsname value=unknown\n");
}

TEST_CASE("a fence, and the end") {
  PmiRank rank = ready_rank();
  CHECK(take(rank, "cmd=barrier_in\n") == "join");
  CHECK(rank.waits_in_fence());
  CHECK(rank.release() == "cmd=barrier_out\n");
  CHECK_FALSE(rank.waits_in_fence());
  CHECK(take(rank, "cmd=finalize\n") == "leave cmd=finalize_ack rc=0 msg=success\n");
  CHECK(take(rank, "cmd=barrier_in\n") == "failed 1: joined an MPI fence after it had finalized");
}

TEST_CASE("MPI_Abort, also in a fence and without init") {
  CHECK(before_init("cmd=abort exitcode=7\n") == "aborted 7: called MPI_Abort(7)");
  CHECK(before_init("cmd=abort exitcode=7 message=no luck\n") ==
        "aborted 7: called MPI_Abort(7): no luck");
  CHECK(before_init("cmd=abort\n") == "aborted 1: called MPI_Abort(1)");
  PmiRank waits = ready_rank();
  take(waits, "cmd=barrier_in\n");
  CHECK(take(waits, "cmd=abort exitcode=0\n") == "aborted 0: called MPI_Abort(0)");
}

TEST_CASE("services that do not exist here are refused by name, and the rank goes on") {
  PmiRank rank = ready_rank();
  CHECK(take(rank, "mcmd=spawn\nnprocs=2\nexecname=a\nendcmd\ncmd=get_appnum\n") ==
        "refused MPI_Comm_spawn, cmd=spawn_result rc=-1 msg=not_supported_by_dslaunch\n; "
        "cmd=appnum appnum=2\n");
}

TEST_CASE("what breaks the protocol ends the connection once") {
  CHECK(after_init("hello\n") == "failed 1: sent an invalid PMI request: 'hello'");
  CHECK(after_init("cmd=fly\n") == "failed 1: sent an unknown PMI request: 'fly'");
  CHECK(after_init("cmd=barrier_in\ncmd=get_maxes\n") ==
        "join; failed 1: sent a PMI request while it waited in a fence");
  CHECK(before_init("cmd=get_maxes\n") == "failed 1: sent a PMI request before 'init'");
  CHECK(before_init("cmd=init pmi_version=3 pmi_subversion=0\n") ==
        "failed 1: wants version 3 of PMI, and dslaunch speaks versions 1 and 2");
  PmiRank rank = ready_rank();
  take(rank, "hello\n");
  CHECK(take(rank, "cmd=get_maxes\n").empty());
}

TEST_CASE("PMI-2: what a rank asks of its job") {
  CHECK(before_init(kInit2) == "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n");
  CHECK(after_init_2("cmd=fullinit;pmirank=3;threaded=FALSE;") ==
        framed("cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=3;size=4;appnum=2;"
               "debugged=FALSE;pmiverbose=FALSE;"));
  CHECK(after_init_2("cmd=job-getid;thrid=0x7f12;") ==
        framed("cmd=job-getid-response;thrid=0x7f12;rc=0;jobid=kvs;"));
  CHECK(after_init_2("cmd=info-getjobattr;key=PMI_process_mapping;") == "get PMI_process_mapping");
  CHECK(after_init_2("cmd=finalize;") == "leave " + framed("cmd=finalize-response;rc=0;"));
}

TEST_CASE("PMI-2: pairs of the job and of the node") {
  CHECK(after_init_2("cmd=kvs-put;key=a;value=b=c d;") == "put a b=c d");
  CHECK(after_init_2("cmd=kvs-get;jobid=kvs;srcid=-1;key=a;") == "get a");
  CHECK(after_init_2("cmd=info-putnodeattr;key=a;value=b;;c;") == "put to node a b;c");
  CHECK(after_init_2("cmd=info-getnodeattr;key=a;wait=FALSE;") == "get of node a");
  CHECK(after_init_2("cmd=info-getnodeattr;key=a;wait=TRUE;") == "wait for of node a");
  CHECK(after_init_2("cmd=kvs-put;key=" + std::string(65, 'k') + ";value=v;") ==
        framed("cmd=kvs-put-response;rc=-1;errmsg=key_longer_than_64_bytes;"));
  CHECK(after_init_2("cmd=kvs-get;jobid=other;key=a;") ==
        framed("cmd=kvs-get-response;rc=-1;errmsg=unknown_kvsname;"));
  PmiRank rank = ready_rank(kInit2);
  take(rank, framed("cmd=kvs-get;key=a;"));
  const std::string value = "x;y";
  CHECK(rank.get_reply(&value) == framed("cmd=kvs-get-response;rc=0;found=TRUE;value=x;;y;"));
  CHECK(rank.get_reply(nullptr) == framed("cmd=kvs-get-response;rc=0;found=FALSE;"));
}

TEST_CASE("PMI-2: a fence, and a wait for a pair") {
  PmiRank rank = ready_rank(kInit2);
  CHECK(take(rank, framed("cmd=kvs-fence;")) == "join");
  CHECK(rank.release() == framed("cmd=kvs-fence-response;rc=0;"));
  CHECK(take(rank, framed("cmd=info-getnodeattr;key=a;wait=TRUE;")) == "wait for of node a");
  rank.wait_for_pair();
  CHECK(take(rank, framed("cmd=kvs-fence;")) ==
        "failed 1: sent a PMI request while it waited for a node attribute");
}

TEST_CASE("PMI-2: the code of MPI_Abort is in its message") {
  CHECK(after_init_2("cmd=abort;isworld=TRUE;msg=application called MPI_Abort(MPI_COMM_WORLD, 7) - "
                     "process 1;") ==
        "aborted 7: called MPI_Abort(7): application called MPI_Abort(MPI_COMM_WORLD, 7) - process "
        "1");
  CHECK(after_init_2("cmd=abort;exitcode=-1;message=MPI_Abort(x;") ==
        "aborted -1: called MPI_Abort(-1): MPI_Abort(x");
  CHECK(after_init_2("cmd=abort;") == "aborted 1: called MPI_Abort(1)");
}

TEST_CASE("names of services") {
  using Status = NameAnswer::Status;
  PmiRank rank = ready_rank();
  CHECK(take(rank, "cmd=publish_name service=s port=tag#0$p=1$\n") == "publish s tag#0$p=1$");
  CHECK(rank.name_reply({}) == "cmd=publish_result rc=0 msg=success\n");
  CHECK(take(rank, "cmd=publish_name service=s port=p\n") == "publish s p");
  CHECK(rank.name_reply({.status = Status::exists}) ==
        "cmd=publish_result rc=-1 msg=service_is_already_published\n");
  CHECK(take(rank, "cmd=lookup_name service=s\n") == "look up s");
  CHECK(rank.name_reply({.found = {{.name = "s", .value = "p=1"}}}) ==
        "cmd=lookup_result rc=0 msg=success port=p=1\n");
  CHECK(take(rank, "cmd=lookup_name service=t\n") == "look up t");
  CHECK(rank.name_reply({}) == "cmd=lookup_result rc=-1 msg=service_is_not_published\n");
  CHECK(take(rank, "cmd=unpublish_name service=s\n") == "withdraw s");
  CHECK(rank.name_reply({.status = Status::unknown}) ==
        "cmd=unpublish_result rc=-1 msg=service_is_not_published\n");
  CHECK(take(rank, "cmd=publish_name service=s\n") ==
        "cmd=publish_result rc=-1 msg=bad_port\n");
  CHECK(take(rank, "cmd=lookup_name\n") == "cmd=lookup_result rc=-1 msg=bad_service_name\n");
  CHECK(take(rank, "cmd=lookup_name service=s\ncmd=barrier_in\n") ==
        "look up s; failed 1: sent a PMI request while it waited for a published name");
}

TEST_CASE("PMI-2: names of services") {
  PmiRank rank = ready_rank(kInit2);
  CHECK(take(rank, framed("cmd=name-publish;thrid=7;name=a b;port=p;;q;")) == "publish a b p;q");
  CHECK(rank.name_reply({}) == framed("cmd=name-publish-response;thrid=7;rc=0;"));
  CHECK(take(rank, framed("cmd=name-lookup;name=a b;")) == "look up a b");
  CHECK(rank.name_reply({.found = {{.name = "a b", .value = "p;q"}}}) ==
        framed("cmd=name-lookup-response;rc=0;found=TRUE;value=p;;q;"));
  CHECK(take(rank, framed("cmd=name-unpublish;name=a b;")) == "withdraw a b");
  CHECK(rank.name_reply({}) == framed("cmd=name-unpublish-response;rc=0;"));
  CHECK(take(rank, framed("cmd=name-publish;name=a;port=two words;")) ==
        framed("cmd=name-publish-response;rc=-1;errmsg=bad_port;"));
}

TEST_CASE("PMI-2: services that do not exist here") {
  CHECK(after_init_2("cmd=spawn;ncmds=1;subcmd=./a;maxprocs=1;argc=0;") ==
        "refused MPI_Comm_spawn, " +
            framed("cmd=spawn-response;rc=-1;errmsg=not_supported_by_dslaunch;"));
  CHECK(after_init_2("cmd=job-connect;jobid=j;").starts_with("refused PMI2_Job_Connect"));
  CHECK(after_init_2("cmd=get_maxes;") == "failed 1: sent an unknown PMI request: 'get_maxes'");
}

TEST_CASE("one connection speaks one version, for one program") {
  CHECK(after_init(framed("cmd=kvs-fence;")) ==
        "failed 1: sent a request of PMI-2 after 'init' of PMI-1");
  PmiRank rank = ready_rank(kInit2);
  CHECK(take(rank, "cmd=barrier_in\n") ==
        "failed 1: sent a request of PMI-1 after 'init' of PMI-2");
  CHECK(
      after_init("cmd=finalize\ncmd=init pmi_version=1 pmi_subversion=1\n")
          .ends_with("; failed 1: started a second MPI program after MPI_Finalize of the first; a "
                     "rank can run only one"));
}
