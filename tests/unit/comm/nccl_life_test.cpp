// Tests of Communicator: the table of states, and its calls against a fake library.
#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

#include "engine/comm/nccl/communicator.h"
#include "engine/comm/nccl/texts.h"

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

TEST_CASE("calls change the state as NCCL allows") {
  using S = CommState;
  using C = CommCall;
  using R = CommResult;
  CHECK(next_state(S::created, C::start, R::in_progress) == S::starting);
  CHECK(next_state(S::created, C::start, R::done) == S::ready);
  CHECK(next_state(S::starting, C::look, R::in_progress) == S::starting);
  CHECK(next_state(S::starting, C::look, R::done) == S::ready);
  CHECK(next_state(S::ready, C::issue, R::in_progress) == S::issuing);
  CHECK(next_state(S::issuing, C::look, R::done) == S::ready);
  CHECK(next_state(S::ready, C::look, R::error) == S::failed);
  CHECK(next_state(S::ready, C::finalize, R::in_progress) == S::closing);
  CHECK(next_state(S::closing, C::look, R::done) == S::closed);
  CHECK(next_state(S::closed, C::destroy, R::done) == S::destroyed);
  CHECK(next_state(S::failed, C::abort, R::done) == S::aborted);
}

TEST_CASE("calls that NCCL leaves undefined are refused in every state") {
  using S = CommState;
  using C = CommCall;
  const auto allowed = [](S state) {
    std::string text;
    const char* const names[] = {"start ", "issue ", "look ", "finalize ", "destroy ", "abort "};
    for (const C call : {C::start, C::issue, C::look, C::finalize, C::destroy, C::abort})
      if (is_allowed(state, call)) text += names[static_cast<int>(call)];
    return text;
  };
  CHECK(allowed(S::created) == "start ");
  CHECK(allowed(S::starting) == "look abort ");
  CHECK(allowed(S::ready) == "issue look finalize abort ");
  CHECK(allowed(S::issuing) == "look abort ");
  CHECK(allowed(S::closing) == "look abort ");
  CHECK(allowed(S::closed) == "destroy abort ");
  CHECK(allowed(S::failed) == "abort ");
  CHECK(allowed(S::aborted).empty());
  CHECK(allowed(S::destroyed).empty());
  for (const S state : {S::created, S::aborted, S::destroyed}) CHECK(!is_alive(state));
}

TEST_CASE("a communicator without errors: start, operations, finalize, destroy") {
  fake = {.looks_until_news = 3};
  {
    Communicator comm(kApi);
    CHECK(!comm.start({}, 0, 2, "gather", soon()));
    CHECK(fake.name == "gather");
    CHECK(comm.state() == CommState::ready);
    fake.looks_until_news = 2;
    CHECK(!comm.issue([](ncclComm_t) { return ncclInProgress; }, soon()));
    CHECK(!comm.issue([](ncclComm_t) { return ncclSuccess; }, soon()));
    CHECK(!comm.look());
    comm.close(soon());
    CHECK(comm.state() == CommState::destroyed);
  }
  CHECK(fake.calls == Calls{"start", "finalize", "destroy"});
}

TEST_CASE("a start that does not end by the deadline is aborted") {
  fake = {.looks_until_news = 1'000'000'000};
  Communicator comm(kApi);
  const auto why = comm.start({}, 0, 2, "gather", passed());
  REQUIRE(why);
  CHECK(why->find("NCCL is still starting") != std::string::npos);
  CHECK(comm.state() == CommState::aborted);
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
    CHECK(comm.state() == CommState::aborted);
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
  while (comm.state() != CommState::issuing) std::this_thread::yield();
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

TEST_CASE("members that did not start are named with their reasons") {
  const GroupSpec spec{.name = "world", .epoch = 0, .ranks = {4, 5, 6}};
  CHECK(start_text(spec, std::vector<std::string>{"", "", ""}).empty());
  CHECK(start_text(spec, std::vector<std::string>{"", "no device", "no network"}) ==
        "rank 5: no device; rank 6: no network");
}
