// Times the engine's all-reduce between processes of this machine: an exchange of slices, the
// ordered sum of a slice, a gather. Usage: all_reduce_mesh RANKS MEGABYTES ROUNDS [tcp]
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "bench/allreduce.h"
#include "engine/base/unique_fd.h"
#include "engine/comm/mesh/socket.h"
#include "engine/comm/rendezvous.h"
#include "engine/program/ordered_tree.h"

using namespace ds;

namespace {

Deadline soon() { return Deadline::after(std::chrono::seconds(60)); }

/// The all-reduce of one rank, with staging for the roots of all others.
class Reducer {
 public:
  Reducer(const Rendezvous& rendezvous)
      : collectives_(make_collectives(rendezvous)),
        ranks_(static_cast<std::size_t>(rendezvous.world_size)),
        me_(static_cast<std::size_t>(rendezvous.rank)) {
    GroupSpec spec{.name = "world", .epoch = 0, .ranks = std::vector<int>(ranks_)};
    std::iota(spec.ranks.begin(), spec.ranks.end(), 0);
    group_ = collectives_->make_group(spec, soon());
    const std::vector<std::vector<Subtree>> roots = [&] {
      std::vector<std::vector<Subtree>> each;
      for (int rank = 0; rank < rendezvous.world_size; ++rank)
        each.push_back(maximal_subtrees(rank, rank + 1, rendezvous.world_size));
      return each;
    }();
    plan_ = plan_finish(roots, rendezvous.world_size);
  }

  /// Works on parts of 2 MB, so that what was just received is still in the cache when it is added.
  /// Gloo cuts into segments of 1 MB.
  void run(std::span<float> data) {
    constexpr std::size_t kPart = 500'000;
    for (; !data.empty(); data = data.subspan(std::min(kPart, data.size())))
      run_part(data.first(std::min(kPart, data.size())));
  }

 private:
  void run_part(std::span<float> data) {
    const std::size_t slice = data.size() / ranks_;
    const auto slice_of = [&](std::size_t rank) {
      return data.subspan(rank * slice, rank + 1 == ranks_ ? data.size() - rank * slice : slice);
    };
    const std::size_t own = slice_of(me_).size();
    if (staging_.size() < own * ranks_) staging_ = bench::huge_floats(own * ranks_);
    std::vector<std::span<const std::byte>> send;
    std::vector<std::span<std::byte>> receive, gather;
    std::vector<std::span<float>> roots;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      roots.push_back(rank == me_ ? slice_of(me_) : staging_.subspan(rank * own, own));
      send.push_back(std::as_bytes(slice_of(rank)));
      receive.push_back(std::as_writable_bytes(roots.back()));
      gather.push_back(std::as_writable_bytes(slice_of(rank)));
    }
    group_->all_to_all(send, receive, soon());
    for (const Merge& merge : plan_.merges) {
      const auto &left = roots[static_cast<std::size_t>(merge.dst)],
                 &right = roots[static_cast<std::size_t>(merge.src)];
      bench::add((&merge == &plan_.merges.back() ? slice_of(me_) : left).data(), left.data(),
                 right.data(), own);
    }
    group_->all_gather(gather, soon());
  }

  std::unique_ptr<Collectives> collectives_;
  std::size_t ranks_, me_;
  std::unique_ptr<Group> group_;
  FinishPlan plan_;
  std::span<float> staging_;
};

}  // namespace

int main(int argc, char** argv) {
  const bool tcp = argc > 4 && std::string(argv[4]) == "tcp";
  UniqueFd probe = comm::listen_on({"127.0.0.1", 0});
  const int port = comm::local_endpoint(probe.get()).port;
  probe.reset();
  return bench::run_ranks(argc, argv, [&](int rank, int ranks) -> bench::AllReduce {
    const auto reducer = std::make_shared<Reducer>(Rendezvous{.rank = rank,
                                                              .world_size = ranks,
                                                              .master_addr = "127.0.0.1",
                                                              .master_port = port,
                                                              .shared_memory = !tcp});
    return [reducer](std::span<float> data) { reducer->run(data); };
  });
}
