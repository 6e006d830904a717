// libnccl.so.2 of the emulation. Ranks are threads or processes of one machine; operations wait in
// the fake runtime's streams until their peers' parts arrive.
//
// It checks what NCCL leaves undefined: use of a destroyed communicator ends the program, a call
// while another is in progress is refused, and nothing reaches the stream until the caller has
// polled often enough. DS_FAKE_NCCL injects faults (Trouble below).
#include <nccl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "cuda_emulation.h"
#include "cuda_emulation/fake_nccl/operation.h"

namespace fake_nccl {
namespace {

/// DS_FAKE_NCCL, comma separated: error=RANK:OP (an asynchronous error when operation OP, counted
/// from 1, is issued), stop=RANK:OP (that rank's part never happens), refuse=RANK:OP (the call
/// fails), silent=RANK (its start never ends), looks=N (polls until a call completes; default 2).
struct Trouble {
  std::uint64_t error = 0, stop = 0, refuse = 0;
  bool silent = false;
  int looks = 2;
};

Trouble trouble_of(int rank) {
  Trouble trouble;
  const char* const text = std::getenv("DS_FAKE_NCCL");
  std::string rest = text != nullptr ? text : "";
  while (!rest.empty()) {
    const std::string item = rest.substr(0, rest.find(','));
    rest.erase(0, item.size() + 1);
    int who = 0;
    unsigned long long op = 0;
    if (std::sscanf(item.c_str(), "looks=%d", &trouble.looks) == 1) continue;
    if (std::sscanf(item.c_str(), "silent=%d", &who) == 1) trouble.silent |= who == rank;
    if (std::sscanf(item.c_str(), "error=%d:%llu", &who, &op) == 2 && who == rank)
      trouble.error = op;
    if (std::sscanf(item.c_str(), "stop=%d:%llu", &who, &op) == 2 && who == rank) trouble.stop = op;
    if (std::sscanf(item.c_str(), "refuse=%d:%llu", &who, &op) == 2 && who == rank)
      trouble.refuse = op;
  }
  return trouble;
}

struct Issued {
  cudaStream_t stream = nullptr;
  std::vector<Message> messages;
};

}  // namespace
}  // namespace fake_nccl

using namespace fake_nccl;

struct ncclComm {
  int rank = 0, ranks = 1;
  std::shared_ptr<Line> line = std::make_shared<Line>();
  Trouble trouble;
  std::uint64_t operations = 0;
  bool starting = true, finalized = false;
  ncclResult_t error = ncclSuccess;
  int looks_left = 0;
  std::vector<Issued> in_progress;  // not on its stream yet
};

namespace {

std::mutex registry_mutex;
std::set<ncclComm_t> registry;
std::atomic<const char*> last_error = "";

struct Group {
  int depth = 0;
  ncclResult_t worst = ncclSuccess;
  std::vector<std::pair<ncclComm_t, Issued>> calls;  // by communicator, in order
};
thread_local Group group;

ncclComm& known(ncclComm_t comm) {
  const std::lock_guard lock(registry_mutex);
  if (registry.contains(comm)) return *comm;
  std::fprintf(stderr, "fake NCCL: a call with a destroyed communicator\n");
  std::abort();
}

bool is_in_progress(const ncclComm& comm) {
  return comm.starting || comm.looks_left > 0 || !comm.in_progress.empty();
}

ncclResult_t complain(ncclResult_t result, const char* text) {
  last_error = text;
  return result;
}

ncclResult_t put_on_stream(ncclComm& comm, Issued& issued) {
  ++comm.operations;
  const bool never = comm.operations == comm.trouble.stop || comm.operations == comm.trouble.error;
  if (comm.operations == comm.trouble.error) {
    comm.error = complain(ncclRemoteError, "fake: a peer has closed the connection");
  }
  auto* const operation = new Operation(comm.line, std::move(issued.messages), never);
  const auto attempt = [](void* self) {
    return static_cast<Operation*>(self)->attempt() ? cudaSuccess : cudaErrorNotReady;
  };
  const auto destroy = [](void* self) { delete static_cast<Operation*>(self); };
  const cudaError_t status = emulation::enqueue(issued.stream, attempt, operation, destroy);
  return status == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t end_of_group() {
  std::vector<std::pair<ncclComm_t, Issued>> calls = std::exchange(group.calls, {});
  if (const ncclResult_t worst = std::exchange(group.worst, ncclSuccess); worst != ncclSuccess)
    return worst;
  for (auto& [comm, issued] : calls) {
    comm->looks_left = comm->trouble.looks;
    comm->in_progress.push_back(std::move(issued));
  }
  return calls.empty() ? ncclSuccess : ncclInProgress;
}

ncclResult_t add_messages(ncclComm_t handle, cudaStream_t stream, std::vector<Message> messages) {
  ncclComm& comm = known(handle);
  ncclResult_t result = ncclSuccess;
  if (is_in_progress(comm)) {
    result = complain(ncclInvalidArgument, "fake: the previous call is still in progress");
  } else if (comm.error != ncclSuccess) {
    result = comm.error;
  } else if (comm.operations + 1 == comm.trouble.refuse) {
    result = complain(ncclInternalError, "fake: refused");
  }
  for (const Message& message : messages) {
    const void* const memory = message.outgoing ? message.from : message.to;
    if (message.head.bytes > 0 && !emulation::reachable(memory, message.head.bytes))
      result = complain(ncclInvalidArgument, "fake: not device memory");
  }
  if (result != ncclSuccess) {
    if (group.depth > 0) group.worst = result;
    return result;
  }
  auto found = std::ranges::find(group.calls, handle, &std::pair<ncclComm_t, Issued>::first);
  if (found == group.calls.end()) {
    group.calls.push_back({handle, {stream, {}}});
    found = group.calls.end() - 1;
  }
  std::ranges::move(messages, std::back_inserter(found->second.messages));
  return group.depth > 0 ? ncclSuccess : end_of_group();
}

Message outgoing(int peer, Kind kind, int root, const void* from, std::size_t bytes) {
  return {.peer = peer,
          .outgoing = true,
          .head = {kind, static_cast<std::uint32_t>(root), bytes},
          .from = static_cast<const std::byte*>(from)};
}

Message incoming(int peer, Kind kind, int root, void* to, std::size_t bytes) {
  return {.peer = peer,
          .outgoing = false,
          .head = {kind, static_cast<std::uint32_t>(root), bytes},
          .to = static_cast<std::byte*>(to)};
}

void end(ncclComm_t comm) {
  const std::lock_guard lock(registry_mutex);
  registry.erase(comm);
  delete comm;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "internal error";
  }
}

const char* ncclGetLastError(ncclComm_t) { return last_error; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::string name = Wire::make_name();
  if (name.empty() || name.size() >= sizeof id->internal)
    return complain(ncclSystemError, "fake: cannot create a file in TMPDIR");
  std::memset(id, 0, sizeof *id);
  std::memcpy(id->internal, name.data(), name.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* result, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (ranks < 1 || ranks > kMaxRanks || rank < 0 || rank >= ranks || config->blocking != 0)
    return complain(ncclInvalidArgument, "fake: invalid ranks, or a blocking communicator");
  auto comm = std::make_unique<ncclComm>();
  comm->rank = rank;
  comm->ranks = ranks;
  comm->trouble = trouble_of(rank);
  comm->line->wire = Wire::join(id.internal, rank, ranks);
  if (!comm->line->wire) return complain(ncclSystemError, "fake: cannot open the shared file");
  *result = comm.release();
  const std::lock_guard lock(registry_mutex);
  registry.insert(*result);
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t* async_error) {
  ncclComm& comm = known(handle);
  if (comm.starting && !comm.trouble.silent && comm.line->wire->all_came()) comm.starting = false;
  if (comm.looks_left > 0) --comm.looks_left;
  if (comm.looks_left == 0) {
    for (Issued& issued : std::exchange(comm.in_progress, {})) {
      const ncclResult_t result = put_on_stream(comm, issued);
      if (result != ncclSuccess) comm.error = result;
    }
  }
  *async_error = is_in_progress(comm) ? ncclInProgress : comm.error;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t handle) {
  ncclComm& comm = known(handle);
  if (is_in_progress(comm) || comm.finalized)
    return complain(ncclInvalidArgument, "fake: finalize now");
  comm.finalized = true;
  comm.looks_left = comm.trouble.looks;
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  if (!known(handle).finalized) {
    std::fprintf(stderr, "fake NCCL: ncclCommDestroy without ncclCommFinalize\n");
    std::abort();
  }
  end(handle);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t handle) {
  ncclComm& comm = known(handle);
  {
    const std::lock_guard lock(comm.line->mutex);
    comm.line->aborted = true;
  }
  end(handle);
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group.depth == 0)
    return complain(ncclInvalidUsage, "fake: ncclGroupEnd without ncclGroupStart");
  return --group.depth > 0 ? ncclSuccess : end_of_group();
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t,
                           ncclComm_t comm, cudaStream_t stream) {
  std::vector<Message> messages;
  auto* const all = static_cast<std::byte*>(to);
  const int rank = known(comm).rank;
  if (from != all + static_cast<std::size_t>(rank) * count)
    return complain(ncclInvalidArgument, "fake: all_gather is supported only in place");
  for (int peer = 0; peer < comm->ranks; ++peer) {
    if (peer == rank) continue;
    messages.push_back(outgoing(peer, Kind::all_gather, 0, from, count));
    messages.push_back(
        incoming(peer, Kind::all_gather, 0, all + static_cast<std::size_t>(peer) * count, count));
  }
  return add_messages(comm, stream, std::move(messages));
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  std::vector<Message> messages;
  const int rank = known(comm).rank;
  for (int peer = 0; peer < comm->ranks && rank == root; ++peer)
    if (peer != rank) messages.push_back(outgoing(peer, Kind::broadcast, root, from, count));
  if (rank != root) messages.push_back(incoming(root, Kind::broadcast, root, to, count));
  return add_messages(comm, stream, std::move(messages));
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return add_messages(comm, stream, {outgoing(peer, Kind::point_to_point, 0, from, count)});
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add_messages(comm, stream, {incoming(peer, Kind::point_to_point, 0, to, count)});
}

}  // extern "C"
#pragma GCC visibility pop
