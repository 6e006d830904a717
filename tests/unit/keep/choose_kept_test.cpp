// Tests of choose_kept() with random losses against a naive oracle: newest complete step, places,
// balance.
#include "engine/keep/choose_kept.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "engine/checkpoint/manifest_text.h"
#include "unit/checkpoint/folder.h"
#include "unit/keep/kept_copies.h"

using namespace ds;
using namespace ds::test;

namespace {

using Key = std::pair<std::int64_t, std::uint64_t>;

/// Steps and epochs of the run of which every rank's share has a copy, newest first.
std::vector<Key> complete_keys(const std::vector<KeptCopy>& copies, const std::string& run) {
  std::map<Key, std::set<int>> ranks;
  std::map<Key, int> worlds;
  for (const KeptCopy& copy : copies) {
    if (copy.share.run != run) continue;
    const Key key{copy.share.head.state.step, copy.share.epoch};
    ranks[key].insert(copy.share.part.rank);
    worlds[key] = copy.share.head.world_size;
  }
  std::vector<Key> keys;
  for (const auto& [key, present] : ranks)
    if (std::ssize(present) == worlds[key]) keys.push_back(key);
  std::ranges::reverse(keys);
  return keys;
}

std::vector<Key> keys_of_steps(const KeptChoice& choice) {
  std::vector<Key> keys;
  for (const KeptStep& step : choice.steps) keys.emplace_back(step.step(), step.epoch);
  return keys;
}

void check_places(const KeptStep& step, const std::vector<KeptCopy>& copies) {
  REQUIRE(std::ssize(step.places) == step.manifest.world_size);
  for (std::size_t chunk = 0; chunk < step.places.size(); ++chunk) {
    std::set<std::pair<int, std::string>> expected, found;
    for (const KeptCopy& copy : copies)
      if (copy.share.run == "job" && copy.share.epoch == step.epoch &&
          copy.share.head.state.step == step.step() &&
          copy.share.part.rank == static_cast<int>(chunk))
        expected.insert({copy.node, copy.file});
    for (const KeptPlace& place : step.places[chunk]) found.insert({place.node, place.file});
    CHECK(found == expected);
    CHECK(found.size() == step.places[chunk].size());
    for (const KeptPlace& place : step.places[chunk])
      CHECK(step.place_for(chunk, place.node).node == place.node);
    CHECK(step.place_for(chunk, 99) == step.places[chunk].front());
  }
}

KeptGroup equal_shares(int ranks) {
  Manifest manifest = head_of(ranks);
  TensorEntry tensor{"w", {ranks * 8}, {{"master", DType::f32, StateClass::sharded, {}}}};
  for (int rank = 0; rank < ranks; ++rank) {
    manifest.chunks.push_back({"chunk " + std::to_string(rank), 32});
    tensor.states[0].pieces.push_back(
        {.box = {{0}, {ranks * 8}}, .first = rank * 8, .elements = 8, .chunk = rank});
  }
  manifest.tensors = {tensor};
  return kept_group(manifest, 10, 1);
}

}  // namespace

TEST_CASE("the newest step of which every share has a copy, against a naive search") {
  int complete = 0, incomplete = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    std::vector<KeptCopy> copies;
    std::map<Key, Manifest> wholes;
    for (std::int64_t left = 1 + below(random, 4); left > 0; --left) {
      const std::int64_t step = 5 + below(random, 3);
      const auto epoch = static_cast<std::uint64_t>(1 + below(random, 3));
      if (wholes.contains({step, epoch})) continue;
      const KeptGroup group = kept_group(random_manifest(random()), step, epoch);
      wholes[{step, epoch}] = group.whole;
      scatter(random, group, 4, true, copies);
      if (below(random, 3) == 0) {  // another job's shares change nothing
        const KeptGroup other = kept_group(random_manifest(random()), step + 9, epoch, "other");
        scatter(random, other, 4, false, copies);
      }
    }
    std::ranges::shuffle(copies, random);
    const KeptChoice choice = choose_kept(copies, "job");
    const std::vector<Key> expected = complete_keys(copies, "job");
    REQUIRE(keys_of_steps(choice) == expected);
    for (const KeptStep& step : choice.steps) {
      check_places(step, copies);
      Manifest whole = wholes[{step.step(), step.epoch}];
      const std::vector<ChunkPart> parts = take_apart(whole);
      Manifest joined = join_parts(whole, parts);
      CHECK(step.manifest.tensors == joined.tensors);
      CHECK(step.manifest.state == joined.state);
    }
    std::ranges::shuffle(copies, random);
    const KeptChoice again = choose_kept(copies, "job");
    CHECK(keys_of_steps(again) == expected);
    CHECK(again.incomplete == choice.incomplete);
    for (std::size_t i = 0; i < again.steps.size(); ++i) {
      CHECK(again.steps[i].places == choice.steps[i].places);
      CHECK(again.steps[i].manifest == choice.steps[i].manifest);
    }
    Key newest{-1, 0};
    for (const KeptCopy& copy : copies)
      if (copy.share.run == "job")
        newest = std::max(newest, Key{copy.share.head.state.step, copy.share.epoch});
    const bool newest_is_whole = !expected.empty() && expected.front() == newest;
    CHECK(choice.incomplete.empty() == (newest.first < 0 || newest_is_whole));
    ++(expected.empty() ? incomplete : complete);
  }
  CHECK(complete > 50);
  CHECK(incomplete > 50);
}

TEST_CASE("missing shares are named") {
  const KeptGroup group = equal_shares(4);
  std::vector<KeptCopy> copies{copy_of(group.shares[0], 0), copy_of(group.shares[2], 1)};
  KeptChoice choice = choose_kept(copies, "job");
  CHECK(choice.steps.empty());
  CHECK(choice.incomplete == "step 10 of epoch 1 lacks the shares of ranks 1, 3 of 4");
  copies.push_back(copy_of(group.shares[1], 0));
  CHECK(choose_kept(copies, "job").incomplete ==
        "step 10 of epoch 1 lacks the share of rank 3 of 4");
  CHECK(choose_kept({}, "job").incomplete.empty());
}

TEST_CASE("shares of one step from two epochs are not joined") {
  const KeptGroup before = kept_group(equal_shares(4).whole, 10, 1);
  const KeptGroup after = kept_group(equal_shares(2).whole, 10, 2);
  const std::vector<KeptCopy> copies{copy_of(before.shares[0], 0), copy_of(before.shares[1], 0),
                                     copy_of(after.shares[1], 1)};
  CHECK(choose_kept(copies, "job").steps.empty());
}

TEST_CASE("ranks that kept different jobs do not make a step") {
  KeptGroup group = equal_shares(2);
  group.shares[1].head.arithmetic = "seed = 8\n";
  const std::vector<KeptCopy> copies{copy_of(group.shares[0], 0), copy_of(group.shares[1], 0)};
  const KeptChoice choice = choose_kept(copies, "job");
  CHECK(choice.steps.empty());
  CHECK(has(choice.incomplete, "its shares do not belong together"));
}

TEST_CASE(
    "a copy with a broken head does not spoil the other copy, and no world size is too large") {
  const KeptGroup group = equal_shares(2);
  KeptCopy broken = copy_of(group.shares[0], 0);
  broken.share.head.world_size = std::numeric_limits<int>::max();
  std::vector<KeptCopy> copies{broken, copy_of(group.shares[1], 0), copy_of(group.shares[0], 1)};
  const KeptChoice choice = choose_kept(copies, "job");
  REQUIRE(choice.steps.size() == 1);
  CHECK(choice.steps[0].places[0] == std::vector{KeptPlace{1, copies[2].file}});
  copies.resize(1);
  CHECK(choose_kept(copies, "job").incomplete ==
        "step 10 of epoch 1 lacks the shares of ranks 1, 2, 3, 4, 5, 6, 7, 8 and 2147483638 more "
        "of 2147483647");
}

TEST_CASE("a gap between the pieces is found") {
  KeptGroup group = equal_shares(2);
  group.shares[1].part.tensors[0].states[0].pieces[0].elements = 7;
  const std::vector<KeptCopy> copies{copy_of(group.shares[0], 0), copy_of(group.shares[1], 0)};
  const KeptChoice choice = choose_kept(copies, "job");
  CHECK(choice.steps.empty());
  CHECK(has(choice.incomplete, "master of w"));
}

TEST_CASE("every node gives the same number of equal shares") {
  for (const int ranks : {4, 8, 12}) {
    const KeptGroup group = equal_shares(ranks);
    std::vector<KeptCopy> copies;
    for (int rank = 0; rank < ranks; ++rank) {
      copies.push_back(copy_of(group.shares[static_cast<std::size_t>(rank)], rank % 4));
      copies.push_back(copy_of(group.shares[static_cast<std::size_t>(rank)], (rank + 1) % 4));
    }
    const KeptChoice choice = choose_kept(copies, "job");
    REQUIRE(choice.steps.size() == 1);
    std::map<int, int> gives;
    for (const auto& places : choice.steps[0].places) ++gives[places.front().node];
    for (const auto& [node, count] : gives) CHECK(count == ranks / 4);
  }
}

TEST_CASE("a place that was dropped gives nothing any more") {
  const KeptGroup group = equal_shares(2);
  std::vector<KeptCopy> copies;
  for (int node = 0; node < 2; ++node)
    for (const KeptShare& share : group.shares) copies.push_back(copy_of(share, node));
  KeptStep step = choose_kept(copies, "job").steps.at(0);
  const KeptPlace first = step.place_for(1, 0);
  CHECK(first.node == 0);
  CHECK(drop_place(step, 1, first));
  CHECK(step.place_for(1, 0).node == 1);
  CHECK(!drop_place(step, 1, step.place_for(1, 0)));
}
