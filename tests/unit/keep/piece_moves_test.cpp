// Tests of plan_moves() on random jobs against a naive oracle, and of PieceStream.
#include "engine/keep/piece_moves.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "engine/base/unique_fd.h"
#include "engine/keep/piece_stream.h"
#include "unit/keep/kept_copies.h"

using namespace ds;
using namespace ds::test;

namespace {

struct MovesCase {
  KeptStep step{};
  std::vector<PieceAt> pieces{};
  std::vector<int> nodes{};
  std::vector<std::vector<bool>> needed{};
  [[nodiscard]] std::vector<PieceMove> moves() const {
    return plan_moves({.step = step, .pieces = pieces, .nodes = nodes, .needed = needed});
  }
};

/// A job of `ranks` ranks on nodes 0 to 3, all of which describe what they keep.
MovesCase random_moves(Random& random) {
  MovesCase made;
  const int nodes = 1 + static_cast<int>(below(random, 4));
  const auto ranks = static_cast<std::size_t>(nodes + below(random, 6));
  for (std::size_t rank = 0; rank < ranks; ++rank)
    made.nodes.push_back(static_cast<int>(rank) < nodes ? static_cast<int>(rank)
                                                        : static_cast<int>(below(random, nodes)));
  std::vector<KeptCopy> copies;
  scatter(random, kept_group(random_manifest(random()), 3, 1), nodes, false, copies);
  const KeptChoice choice = choose_kept(copies, "job");
  REQUIRE(choice.steps.size() == 1);
  made.step = choice.steps[0];
  made.pieces = pieces_of(made.step.manifest);
  const std::int64_t sparse = 1 + below(random, 4);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::vector<bool>& bits = made.needed.emplace_back(made.pieces.size());
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = below(random, sparse) == 0;
  }
  return made;
}

bool keeps(const MovesCase& job, std::size_t piece, int node) {
  const auto& places = job.step.places[static_cast<std::size_t>(job.pieces[piece].chunk)];
  return std::ranges::any_of(places, [&](const KeptPlace& place) { return place.node == node; });
}

void check_moves(const MovesCase& job, const std::vector<PieceMove>& moves) {
  std::map<std::pair<std::size_t, int>, int> arrivals;  // by piece and node
  std::map<std::pair<int, int>, std::set<int>> receivers;  // by chunk and node
  for (const PieceMove& move : moves) {
    const int to = job.nodes[static_cast<std::size_t>(move.to)];
    CHECK(keeps(job, move.piece, job.nodes[static_cast<std::size_t>(move.from)]));
    CHECK(!keeps(job, move.piece, to));
    ++arrivals[{move.piece, to}];
    receivers[{job.pieces[move.piece].chunk, to}].insert(move.to);
  }
  for (const auto& [key, ranks] : receivers) CHECK(ranks.size() == 1);
  const std::set<int> nodes(job.nodes.begin(), job.nodes.end());
  for (std::size_t piece = 0; piece < job.pieces.size(); ++piece) {
    for (const int node : nodes) {
      bool is_needed = false;
      for (std::size_t rank = 0; rank < job.nodes.size(); ++rank)
        is_needed = is_needed || (job.nodes[rank] == node && job.needed[rank][piece]);
      const int expected = is_needed && !keeps(job, piece, node) ? 1 : 0;
      CHECK(arrivals[{piece, node}] == expected);
    }
  }
}

}  // namespace

TEST_CASE("each piece moves once to each node that needs and lacks it, on random jobs") {
  std::size_t all = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const MovesCase job = random_moves(random);
    const std::vector<PieceMove> moves = job.moves();
    check_moves(job, moves);
    all += moves.size();
  }
  CHECK(all > 1000);
}

TEST_CASE("the ranks of a node share the work of sending") {
  Random random(1);
  Manifest manifest = head_of(1);
  manifest.chunks = {{"c", 64 * 64}};
  TensorEntry tensor{"w", {16 * 64}, {{"master", DType::f32, StateClass::sharded, {}}}};
  for (std::int64_t i = 0; i < 64; ++i)
    tensor.states[0].pieces.push_back(
        {.box = {{0}, {16 * 64}}, .first = i * 16, .elements = 16, .at = i * 64});
  manifest.tensors = {tensor};
  const KeptGroup group = kept_group(manifest, 3, 1);
  MovesCase job;
  job.step = choose_kept(std::vector{copy_of(group.shares[0], 0)}, "job").steps.at(0);
  job.pieces = pieces_of(job.step.manifest);
  job.nodes = {0, 0, 0, 0, 1};
  job.needed.assign(5, std::vector<bool>(job.pieces.size()));
  job.needed[4].assign(job.pieces.size(), true);
  std::map<int, int> sent;
  for (const PieceMove& move : job.moves()) ++sent[move.from];
  for (int rank = 0; rank < 4; ++rank) CHECK(sent[rank] == 16);
}

TEST_CASE("a stream of pieces arrives whole in parts of any size") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const UniqueFd from(::memfd_create("from", 0)), to(::memfd_create("to", 0));
    std::string bytes(5000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    REQUIRE(::pwrite(from.get(), bytes.data(), bytes.size(), 0) == 5000);
    REQUIRE(::ftruncate(to.get(), 5000) == 0);
    PieceStream out, in;
    std::string expected(5000, '\0');
    for (std::int64_t at = 0; at < 4000;) {
      const std::int64_t size = 1 + below(random, 900);
      out.add(from.get(), at, size);
      in.add(to.get(), at, size);
      expected.replace(static_cast<std::size_t>(at), static_cast<std::size_t>(size), bytes,
                       static_cast<std::size_t>(at), static_cast<std::size_t>(size));
      at += size + below(random, 100);
    }
    CHECK(out.left() == in.left());
    while (out.left() > 0) {
      std::vector<std::byte> part(
          static_cast<std::size_t>(std::min(out.left(), 1 + below(random, 700))));
      CHECK(out.read(part));
      CHECK(in.write(part) == 0);
    }
    CHECK(in.left() == 0);
    std::string got(5000, '\1');
    REQUIRE(::pread(to.get(), got.data(), got.size(), 0) == 5000);
    CHECK(got == expected);
  }
}

TEST_CASE("bytes that cannot be read are zeros, and the stream goes on") {
  const UniqueFd file(::memfd_create("file", 0));
  REQUIRE(::pwrite(file.get(), "abcd", 4, 0) == 4);
  PieceStream out;
  out.add(file.get(), 2, 4);
  out.add(-1, 0, 2);
  out.add(file.get(), 0, 2);
  std::array<std::byte, 8> got{};
  got.fill(std::byte{7});
  CHECK(!out.read(got));
  CHECK(std::string(reinterpret_cast<const char*>(got.data()), 8) ==
        std::string("cd\0\0\0\0ab", 8));
  PieceStream in;
  in.add(-1, 0, 8);
  CHECK(in.write(got) != 0);
  CHECK(in.left() == 0);
}
