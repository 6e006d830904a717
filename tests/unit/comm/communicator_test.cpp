// Tests of Communicator: its calls against a fake library.
#include "engine/comm/nccl/communicator.h"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

using namespace ds;
using namespace ds::comm;
using namespace std::chrono_literals;

namespace {

// The fake library: records calls and gives preset answers.
struct Fake {
  std::vector<std::string> calls{};
  ncclResult_t start = ncclInProgress, finalize = ncclInProgress, news = ncclSuccess;
  int looks_until_news = 0;  // polls that first answer "in progress"
  std::string name{};
};
Fake fake;
ncclComm_t const kComm = reinterpret_cast<ncclComm_t>(&fake);

NcclApi fake_api() {
  NcclApi api;
  api.get_error_string = [](ncclResult_t) { return "remote process exited"; };
  api.get_last_error = [](ncclComm_t) { return "connection reset\n"; };
  api.comm_init_rank_config = [](ncclComm_t* comm, int, ncclUniqueId, int, ncclConfig_t* config) {
    fake.calls.push_back(config->blocking == 0 ? "start" : "blocking start");
    fake.name = config->commName;
    *comm = kComm;
    return fake.start;
  };
  api.comm_get_async_error = [](ncclComm_t comm, ncclResult_t* news) {
    CHECK(comm == kComm);
    const bool wait = fake.looks_until_news-- > 0;
    *news = wait ? ncclInProgress : fake.news;
    return ncclSuccess;
  };
  const auto say = [](const char* what, ncclComm_t comm) {
    CHECK(comm == kComm);
    fake.calls.emplace_back(what);
  };
  static const auto told = say;
  api.comm_finalize = [](ncclComm_t comm) { return told("finalize", comm), fake.finalize; };
  api.comm_destroy = [](ncclComm_t comm) { return told("destroy", comm), ncclSuccess; };
  api.comm_abort = [](ncclComm_t comm) { return told("abort", comm), ncclSuccess; };
  return api;
}

const NcclApi kApi = fake_api();
Deadline soon() { return Deadline::after(60s); }
Deadline passed() { return Deadline::after(-1s); }
using Calls = std::vector<std::string>;

}  // namespace

TEST_CASE("calls that NCCL leaves undefined are not made") {
  fake = {};
  Communicator comm(kApi);
  const auto issue = [&] { return comm.issue([](ncclComm_t) { return ncclSuccess; }, soon()); };
  CHECK(issue());  // not started
  CHECK(!comm.look());
  comm.close(soon());
  comm.abort();
  CHECK(fake.calls.empty());
  CHECK(!comm.start({}, 0, 2, "gather", soon()));
  CHECK(comm.start({}, 0, 2, "gather", soon()));
  fake.news = ncclInProgress;
  CHECK(comm.issue([](ncclComm_t) { return ncclInProgress; }, passed()));
  CHECK(issue());  // the one before is in progress
  comm.close(soon());
  CHECK(issue() == "the group was aborted");
  CHECK(!comm.look());
  CHECK(fake.calls == Calls{"start", "abort"});
}

TEST_CASE("a communicator without errors: start, operations, finalize, destroy") {
  fake = {.looks_until_news = 3};
  {
    Communicator comm(kApi);
    CHECK(!comm.start({}, 0, 2, "gather", soon()));
    CHECK(fake.name == "gather");
    CHECK(comm.state() == Communicator::State::ready);
    fake.looks_until_news = 2;
    CHECK(!comm.issue([](ncclComm_t) { return ncclInProgress; }, soon()));
    CHECK(!comm.issue([](ncclComm_t) { return ncclSuccess; }, soon()));
    CHECK(!comm.look());
    comm.close(soon());
    CHECK(comm.state() == Communicator::State::gone);
  }
  CHECK(fake.calls == Calls{"start", "finalize", "destroy"});
}

TEST_CASE("a start that does not end by the deadline is aborted") {
  fake = {.looks_until_news = 1'000'000'000};
  Communicator comm(kApi);
  const auto why = comm.start({}, 0, 2, "gather", passed());
  REQUIRE(why);
  CHECK(why->find("NCCL is still starting") != std::string::npos);
  CHECK(comm.state() == Communicator::State::gone);
  CHECK(fake.calls == Calls{"start", "abort"});
}

TEST_CASE("an error quotes NCCL's message; afterwards only abort is called") {
  fake = {};
  {
    Communicator comm(kApi);
    CHECK(!comm.start({}, 0, 2, "gather", soon()));
    fake.news = ncclRemoteError;
    const auto why = comm.look();
    REQUIRE(why);
    CHECK(*why == "remote process exited (NCCL says: connection reset)");
    CHECK(!comm.look());
    CHECK(comm.issue([](ncclComm_t) { return ncclSuccess; }, soon()) == why);
    comm.close(soon());
    CHECK(comm.state() == Communicator::State::gone);
  }
  CHECK(fake.calls == Calls{"start", "abort"});
}

TEST_CASE("an abort while a call is in progress ends the wait for it, and is made once") {
  fake = {};
  Communicator comm(kApi);
  CHECK(!comm.start({}, 0, 2, "gather", soon()));
  fake.looks_until_news = 1'000'000'000;
  std::optional<std::string> why;
  std::thread issuing([&] { why = comm.issue([](ncclComm_t) { return ncclInProgress; }, soon()); });
  while (comm.state() != Communicator::State::busy) std::this_thread::yield();
  comm.abort();
  comm.abort();
  issuing.join();
  CHECK(why == "the group was aborted");
  CHECK(fake.calls == Calls{"start", "abort"});
}

TEST_CASE("a group is aborted when a member does not leave in time") {
  fake = {};
  Communicator comm(kApi);
  CHECK(!comm.start({}, 0, 2, "gather", soon()));
  fake.looks_until_news = 1'000'000'000;
  comm.close(passed());
  CHECK(fake.calls == Calls{"start", "finalize", "abort"});
}
