// Tests of KeptMemory with ranks as threads: pieces arrive where they are needed, broken copies are
// replaced, lost shares are named.
#include "engine/keep/kept_memory.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <exception>
#include <functional>
#include <numeric>
#include <thread>

#include "engine/base/error.h"
#include "engine/checkpoint/chunk_writer.h"
#include "support/node_files.h"
#include "support/thread_collectives.h"
#include "unit/checkpoint/folder.h"
#include "unit/checkpoint/written.h"
#include "unit/keep/kept_copies.h"

using namespace ds;
using namespace ds::test;

namespace {

std::unique_ptr<NodeStore> store_of(NodeFiles& files) { return std::make_unique<RankStore>(files); }

/// Flips a bit of a chunk.
void flip(NodeFiles& node, const std::string& name, std::int64_t at) {
  for (const KeptFile& file : node.kept()) {
    if (file.name != name) continue;
    char byte = 0;
    REQUIRE(::pread(file.fd.get(), &byte, 1, KeptSlot::kPieces + at) == 1);
    byte = static_cast<char>(byte ^ 4);
    REQUIRE(::pwrite(file.fd.get(), &byte, 1, KeptSlot::kPieces + at) == 1);
  }
}

/// Writes the pieces of a share with the values of value_of(), sets their checksums, and hands the
/// slot to the nodes.
void keep_share(KeptShare share, const Manifest& whole, std::vector<NodeFiles*> nodes) {
  KeptSlot slot = KeptSlot::create(KeptSlot::bytes_for(share.part, share.head), {});
  slot.begin();
  ChunkWriter writer({.path = "slot", .fd = slot.fd(), .first = KeptSlot::kPieces});
  for (TensorEntry& tensor : share.part.tensors) {
    const auto t = static_cast<std::size_t>(
        std::ranges::find(whole.tensors, tensor.name, &TensorEntry::name) - whole.tensors.begin());
    for (StateEntry& state : tensor.states) {
      const std::vector<StateEntry>& states = whole.tensors[t].states;
      const auto s = static_cast<std::size_t>(
          std::ranges::find(states, state.name, &StateEntry::name) - states.begin());
      for (Piece& piece : state.pieces) {
        std::vector<float> values;
        for (std::int64_t i = piece.first; i < piece.first + piece.elements; ++i)
          values.push_back(value_of(t, s, piece.rank, plain_element(tensor.shape, piece.box, i)));
        const auto place = writer.append(std::as_bytes(std::span(values)));
        piece.at = place.at;
        piece.checksum = place.checksum;
      }
    }
  }
  share.part.chunk.bytes = writer.finish();
  slot.finish(share);
  for (NodeFiles* node : nodes) node->keep({copy_of(share, 0).file, 0, UniqueFd(::dup(slot.fd()))});
}

/// A copy of its own for each node, so that one can be damaged alone.
void keep_copies(const KeptShare& share, const Manifest& whole,
                 const std::vector<NodeFiles*>& nodes) {
  for (NodeFiles* node : nodes) keep_share(share, whole, {node});
}

/// Runs `work` on ranks as threads; `nodes`: by rank.
void on_ranks(const std::vector<int>& nodes, const std::function<void(Group&, int node)>& work) {
  const auto world = std::make_shared<ThreadWorld>(static_cast<int>(nodes.size()));
  std::vector<int> ranks(nodes.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<std::exception_ptr> errors(nodes.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        ThreadCollectives collectives(world, static_cast<int>(rank));
        const auto group = collectives.make_group({.name = "world", .epoch = 7, .ranks = ranks},
                                                  Deadline::after(std::chrono::seconds(20)));
        work(*group, nodes[rank]);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

std::vector<bool> random_needs(std::size_t pieces, std::uint64_t seed) {
  Random random(seed);
  std::vector<bool> needed(pieces);
  for (std::size_t i = 0; i < pieces; ++i) needed[i] = below(random, 2) == 0;
  return needed;
}

/// Reads the needed pieces and returns the chunk that is broken, or -1. Every piece that can be
/// read has its values. Threads must not use REQUIRE.
int read_pieces(const std::shared_ptr<const Checkpoint>& from, const std::vector<bool>& needed) {
  PieceReader reader(from);
  std::size_t number = 0;
  const Manifest& manifest = from->manifest();
  try {
    for (std::size_t t = 0; t < manifest.tensors.size(); ++t) {
      const TensorEntry& tensor = manifest.tensors[t];
      for (std::size_t s = 0; s < tensor.states.size(); ++s) {
        for (const Piece& piece : tensor.states[s].pieces) {
          if (!needed[number++]) continue;
          const auto bytes = reader.verified(tensor, tensor.states[s], piece);
          for (std::int64_t i = 0; i < piece.elements; ++i) {
            float value = 0;
            std::memcpy(&value, bytes.data() + i * 4, 4);
            const std::int64_t element = plain_element(tensor.shape, piece.box, piece.first + i);
            if (value != value_of(t, s, piece.rank, element))
              throw Error(ErrorKind::bug, "another value");
          }
        }
      }
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::bug) throw;
    return reader.broken_chunk();
  }
  return -1;
}

}  // namespace

TEST_CASE("every rank reads the pieces that it needs, and each moves once to a node") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const int nodes = 1 + static_cast<int>(below(random, 3));
    std::vector<int> of_rank;
    for (int rank = 0; rank < nodes + static_cast<int>(below(random, 4)); ++rank)
      of_rank.push_back(rank % nodes);
    std::vector<std::unique_ptr<NodeFiles>> stores;
    for (int node = 0; node < nodes; ++node) stores.push_back(std::make_unique<NodeFiles>());
    const KeptGroup group = kept_group(random_manifest(random()), 12, 3);
    for (const KeptShare& share : group.shares) {
      std::vector<NodeFiles*> keepers{stores[static_cast<std::size_t>(below(random, nodes))].get()};
      keep_copies(share, group.whole, keepers);
    }
    std::vector<std::size_t> held;
    for (const auto& store : stores) held.push_back(store->count());
    on_ranks(of_rank, [&](Group& world, int node) {
      KeptMemory memory(world, store_of(*stores[static_cast<std::size_t>(node)]),
                        std::to_string(node), "job");
      if (memory.step() == nullptr || memory.step()->step() != 12)
        throw Error(ErrorKind::bug, "the step was not found");
      const auto needed = random_needs(pieces_of(memory.step()->manifest).size(),
                                       seed * 64 + static_cast<std::uint64_t>(world.rank()));
      const auto from = memory.fetch(needed);
      if (read_pieces(from, needed) != -1) throw Error(ErrorKind::bug, "a piece is missing");
      world.barrier(Deadline::after(std::chrono::seconds(20)));
      memory.release();
    });
    for (std::size_t i = 0; i < held.size(); ++i) CHECK(stores[i]->count() == held[i]);
  }
}

TEST_CASE("a broken copy is replaced by the other one, then the step by an older one") {
  NodeFiles first, second;
  const std::vector<NodeFiles*> both{&first, &second};
  const KeptGroup newer = kept_group(small_manifest(), 12, 3);
  const KeptGroup older = kept_group(small_manifest(), 11, 3);
  for (const KeptGroup* group : {&newer, &older})
    for (const KeptShare& share : group->shares) keep_copies(share, group->whole, both);
  const std::string file = copy_of(newer.shares[1], 0).file;
  flip(first, file, 3);
  const auto attempt = [&](int copies_left, std::int64_t step_left) {
    on_ranks({0, 1, 1}, [&](Group& world, int node) {
      KeptMemory memory(world, store_of(node == 0 ? first : second), std::to_string(node), "job");
      const std::vector<bool> needed(pieces_of(memory.step()->manifest).size(), true);
      int tries = 0;
      for (;; ++tries) {
        const int broken = read_pieces(memory.fetch(needed), needed);
        int worst = broken;
        world.combine(
            std::as_writable_bytes(std::span(&worst, 1)),
            [](std::span<std::byte> left, std::span<const std::byte> right) {
              int a = 0, b = 0;
              std::memcpy(&a, left.data(), sizeof a);
              std::memcpy(&b, right.data(), sizeof b);
              a = std::max(a, b);
              std::memcpy(left.data(), &a, sizeof a);
            },
            Deadline::after(std::chrono::seconds(20)));
        if (worst < 0) break;
        const auto lines = memory.report_broken(broken);
        if (lines.empty() || !has(lines[0], "the kept share of rank 1, step 12"))
          throw Error(ErrorKind::bug, "no line about the broken share");
      }
      if (tries != copies_left || memory.step()->step() != step_left)
        throw Error(ErrorKind::bug, fmt::format("{} tries, step {}", tries, memory.step()->step()));
    });
  };
  attempt(1, 12);
  flip(second, file, 3);
  attempt(1, 11);
}

TEST_CASE("once all ranks go on from a step, the nodes keep no other one") {
  NodeFiles first, second;
  const KeptGroup newer = kept_group(small_manifest(), 12, 3);
  const KeptGroup older = kept_group(small_manifest(), 11, 3);
  for (const KeptGroup* group : {&newer, &older})
    for (const KeptShare& share : group->shares)
      keep_copies(share, group->whole, {&first, &second});
  const std::size_t shares = newer.shares.size();
  REQUIRE(first.count() == 2 * shares);
  on_ranks({0, 1, 1}, [&](Group& world, int node) {
    KeptMemory memory(world, store_of(node == 0 ? first : second), std::to_string(node), "job");
    memory.drop_other_steps();
    world.barrier(Deadline::after(std::chrono::seconds(20)));
    if (memory.step()->step() != 12) throw Error(ErrorKind::bug, "another step");
  });
  CHECK(first.count() == shares);
  CHECK(second.count() == shares);
  on_ranks({0, 1}, [&](Group& world, int node) {
    const KeptMemory memory(world, store_of(node == 0 ? first : second), std::to_string(node),
                            "job");
    if (memory.step() == nullptr || memory.step()->step() != 12)
      throw Error(ErrorKind::bug, "the step is gone");
  });
}

TEST_CASE("once all ranks went on from other states, the nodes keep nothing") {
  NodeFiles first, second;
  const KeptGroup group = kept_group(small_manifest(), 12, 3);
  keep_copies(group.shares[0], group.whole, {&first, &second});  // the others are lost
  first.keep({"e3.r1.own0", 4096, UniqueFd(::dup(KeptSlot::create(4096, "").fd()))});
  on_ranks({0, 1, 1}, [&](Group& world, int node) {
    KeptMemory memory(world, store_of(node == 0 ? first : second), std::to_string(node), "job");
    if (memory.step() != nullptr) throw Error(ErrorKind::bug, "an incomplete step");
    memory.drop_all();
  });
  CHECK(first.count() == 0);
  CHECK(second.count() == 0);
}

TEST_CASE("a file that is no share is told, and the other copy is used") {
  NodeFiles first, second;
  const KeptGroup group = kept_group(small_manifest(), 12, 3);
  for (const KeptShare& share : group.shares) keep_copies(share, group.whole, {&first, &second});
  flip(first, copy_of(group.shares[0], 0).file, -KeptSlot::kPieces);
  on_ranks({0, 1}, [&](Group& world, int node) {
    KeptMemory memory(world, store_of(node == 0 ? first : second), std::to_string(node), "job");
    if (memory.step() == nullptr || memory.problems().size() != 1 ||
        !has(memory.problems()[0], "of node 0 is not used: its header does not verify"))
      throw Error(ErrorKind::bug, "the broken file is not told");
  });
}

TEST_CASE("what a lost rank has received for its node is neither a share nor a problem") {
  NodeFiles node;
  const KeptGroup group = kept_group(small_manifest(), 12, 3);
  for (const KeptShare& share : group.shares) keep_copies(share, group.whole, {&node});
  const UniqueFd left(::memfd_create("left", MFD_CLOEXEC));
  REQUIRE(::pwrite(left.get(), "pieces", 6, 0) == 6);
  REQUIRE(::ftruncate(left.get(), 1 << 20) == 0);
  node.keep({"received-2-0", 1 << 20, UniqueFd(::dup(left.get()))});
  on_ranks({0}, [&](Group& world, int) {
    KeptMemory memory(world, store_of(node), "0", "job");
    if (memory.step() == nullptr || !memory.problems().empty())
      throw Error(ErrorKind::bug, "the file is told");
    if (memory.held_bytes() >= 1 << 20) throw Error(ErrorKind::bug, "the file is counted");
    memory.drop_other_steps();
  });
  CHECK(node.count() == group.shares.size());
}

TEST_CASE("a rank that receives from many ranks hands in one file") {
  NodeFiles first, second;
  Manifest whole = head_of(200);
  TensorEntry tensor{"w", {200}, {{"master", DType::f32, StateClass::sharded, {}}}};
  for (int rank = 0; rank < 200; ++rank) {
    whole.chunks.push_back({"chunk " + std::to_string(rank), 4});
    tensor.states[0].pieces.push_back(
        {.box = {{0}, {200}}, .first = rank, .elements = 1, .chunk = rank});
  }
  whole.tensors = {tensor};
  const KeptGroup group = kept_group(whole, 12, 3);
  for (const KeptShare& share : group.shares) keep_copies(share, group.whole, {&first});
  std::atomic<std::size_t> most = 0;
  on_ranks({0, 1, 1}, [&](Group& world, int node) {
    KeptMemory memory(world, store_of(node == 0 ? first : second), std::to_string(node), "job");
    const std::vector<bool> needed(pieces_of(memory.step()->manifest).size(), true);
    const auto from = memory.fetch(needed);
    if (read_pieces(from, needed) != -1) throw Error(ErrorKind::bug, "a piece is missing");
    world.barrier(Deadline::after(std::chrono::seconds(20)));
    if (world.rank() == 1) most = second.count();
    world.barrier(Deadline::after(std::chrono::seconds(20)));
  });
  CHECK(most <= 2);
  CHECK(second.count() == 0);
}

TEST_CASE("an agent that does not hold what a rank received is an error, not a missing piece") {
  NodeFiles first, second;
  const KeptGroup group = kept_group(small_manifest(), 12, 3);
  for (const KeptShare& share : group.shares) keep_copies(share, group.whole, {&first});
  second.refuses = true;
  std::atomic<int> refused = 0;
  on_ranks({0, 1, 1}, [&](Group& world, int node) {
    KeptMemory memory(world, store_of(node == 0 ? first : second), std::to_string(node), "job");
    const std::vector<bool> needed(pieces_of(memory.step()->manifest).size(), true);
    try {
      memory.fetch(needed);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::system && has(error.what(), "does not hold")) ++refused;
    }
    world.barrier(Deadline::after(std::chrono::seconds(20)));
  });
  CHECK(refused >= 1);
}

TEST_CASE("an agent that does not answer is told, and its node keeps nothing") {
  NodeFiles first, second;
  const KeptGroup group = kept_group(small_manifest(), 12, 3);
  for (const KeptShare& share : group.shares) keep_copies(share, group.whole, {&first});
  keep_copies(group.shares[0], group.whole, {&second});
  first.is_silent = true;
  on_ranks({0, 1}, [&](Group& world, int node) {
    KeptMemory memory(world, store_of(node == 0 ? first : second), std::to_string(node), "job");
    if (memory.step() != nullptr || memory.problems().size() != 1 ||
        !has(memory.problems()[0], "the agent of node 0 did not hand out what it keeps") ||
        memory.incomplete() != "step 12 of epoch 3 lacks the share of rank 1 of 2")
      throw Error(ErrorKind::bug, memory.incomplete());
  });
}

TEST_CASE("ranks without an agent find nothing") {
  on_ranks({0, 1}, [&](Group& world, int node) {
    KeptMemory memory(world, nullptr, std::to_string(node), "job");
    if (memory.step() != nullptr || !memory.incomplete().empty())
      throw Error(ErrorKind::bug, "there is something");
  });
}
