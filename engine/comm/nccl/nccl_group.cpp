// NcclGroup: the collectives as NCCL calls.
#include "engine/comm/nccl/nccl_group.h"

#include <algorithm>
#include <utility>

#include "engine/device/cuda/check.h"
#include "engine/device/cuda/cuda_stream.h"

namespace ds::comm {
namespace {

using namespace std::chrono_literals;
constexpr Clock::duration kGoodbye = 2s;  // time for all members to reach the group's end

constexpr auto at = [](int index) { return static_cast<std::size_t>(index); };

std::uint64_t bytes_of(const auto& pieces) {
  std::uint64_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.size();
  return bytes;
}

// Returns whether the pieces are equal and adjacent in rank order: NCCL's own in-place all-gather
// does that.
bool is_even(ReceivePieces pieces) {
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    if (pieces[i].size() != pieces[0].size()) return false;
    if (pieces[i].data() != pieces[i - 1].data() + pieces[i - 1].size()) return false;
  }
  return true;
}

// Keeps the first failure; a call in progress is not one.
void keep_worst(ncclResult_t& worst, ncclResult_t code) {
  if (worst == ncclSuccess || worst == ncclInProgress)
    if (code != ncclSuccess) worst = code;
}

}  // namespace

NcclGroup::Event::Event() {
  cuda::check(cudaEventCreateWithFlags(&get, cudaEventDisableTiming | cudaEventBlockingSync),
              "creating an event");
}

NcclGroup::NcclGroup(Parts parts) : parts_(std::move(parts)), api_(*parts_.api) {
  const std::lock_guard looking(look_mutex_);  // the guard polls at once
  const auto give_up = [this](const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (hopeless_.empty()) hopeless_ = reason;
  };
  const auto poll = [this](Clock::time_point now, Clock::duration gap) {
    static_cast<void>(cudaSetDevice(parts_.cuda_device));
    return look(now, gap);
  };
  watch_ = parts_.host->watch_calls(spec(), {.give_up = give_up, .poll = poll});
}

NcclGroup::~NcclGroup() {
  watch_.reset();
  parts_.comm->close(Deadline::after(kGoodbye));
}

void NcclGroup::run_on(Stream& stream) { stream_ = cuda::stream_of(stream); }

// Calls between start and end go out as one; ncclGroupEnd is due even if one of them failed.
ncclResult_t NcclGroup::all_together(FunctionRef<ncclResult_t()> calls) {
  ncclResult_t worst = api_.group_start();
  if (worst != ncclSuccess) return worst;
  keep_worst(worst, calls());
  keep_worst(worst, api_.group_end());
  return worst;
}

// Copies the own piece outside of NCCL's lock: a device that makes no progress may block the call.
void NcclGroup::all_to_all(SendPieces send, ReceivePieces receive, Deadline deadline) {
  DS_ASSERT(std::ssize(send) == size() && std::ssize(receive) == size());
  const std::span<const std::byte> own_from = send[at(rank())];
  const std::span<std::byte> own = receive[at(rank())];
  DS_ASSERT(own.size() == own_from.size());
  if (!own.empty() && own.data() != own_from.data()) {
    cuda::check(
        cudaMemcpyAsync(own.data(), own_from.data(), own.size(), cudaMemcpyDefault, stream_),
        "all_to_all: the own piece");
  }
  const auto call = [&](ncclComm_t comm) {
    ncclResult_t worst = ncclSuccess;
    for (int peer = 0; peer < size(); ++peer) {
      const std::span<const std::byte> out = send[at(peer)];
      const std::span<std::byte> in = receive[at(peer)];
      if (peer != rank() && !out.empty())
        keep_worst(worst, api_.send(out.data(), out.size(), ncclInt8, peer, comm, stream_));
      if (peer != rank() && !in.empty())
        keep_worst(worst, api_.receive(in.data(), in.size(), ncclInt8, peer, comm, stream_));
    }
    return worst;
  };
  run({.operation = "all_to_all", .bytes = bytes_of(send)}, deadline,
      [&](ncclComm_t comm) { return all_together([&] { return call(comm); }); });
}

void NcclGroup::all_gather(ReceivePieces pieces, Deadline deadline) {
  DS_ASSERT(std::ssize(pieces) == size());
  run({.operation = "all_gather", .bytes = bytes_of(pieces)}, deadline, [&](ncclComm_t comm) {
    if (is_even(pieces)) {
      if (pieces[0].empty()) return ncclSuccess;
      return api_.all_gather(pieces[at(rank())].data(), pieces[0].data(), pieces[0].size(),
                             ncclInt8, comm, stream_);
    }
    return all_together([&] {
      ncclResult_t worst = ncclSuccess;
      for (int root = 0; root < size(); ++root) {
        const std::span<std::byte> piece = pieces[at(root)];
        if (piece.empty()) continue;
        keep_worst(worst, api_.broadcast(piece.data(), piece.data(), piece.size(), ncclInt8, root,
                                         comm, stream_));
      }
      return worst;
    });
  });
}

void NcclGroup::barrier(Deadline deadline) {
  throw_failure("barrier");
  cuda::check(cudaStreamSynchronize(stream_), "barrier");
  raise_failure();
  parts_.control->barrier(deadline);
}

}  // namespace ds::comm
