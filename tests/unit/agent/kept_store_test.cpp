// Tests which files of ranks an agent holds, and when it closes them.
#include "launcher/agent/kept_store.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

using ds::UniqueFd;
using namespace ds::launcher;

namespace {

StoredFile file(std::int32_t rank = 0, std::uint32_t epoch = 1) {
  return {UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), 8, rank, epoch};
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

}  // namespace

TEST_CASE("a file is held until it is dropped or replaced") {
  KeptStore store;
  CHECK(store.keep("own.0", file()).empty());
  const int first = store.files().at("own.0").fd.get();
  CHECK(store.keep("own.0", file(3, 2)).empty());
  CHECK(store.files().size() == 1);
  CHECK(store.files().at("own.0").rank == 3);
  CHECK_FALSE(is_open(first));
  const int second = store.files().at("own.0").fd.get();
  store.drop("other");
  CHECK(is_open(second));
  store.drop("own.0");
  CHECK_FALSE(is_open(second));
  CHECK(store.files().empty());
}

TEST_CASE("files of earlier epochs are dropped together") {
  KeptStore store;
  for (std::uint32_t epoch = 1; epoch <= 3; ++epoch)
    CHECK(store.keep("e" + std::to_string(epoch), file(0, epoch)).empty());
  store.drop_before(3);
  REQUIRE(store.files().size() == 1);
  CHECK(store.files().contains("e3"));
}

TEST_CASE("each rank of an epoch has a limit, and so has the node") {
  KeptStore store(KeptStore::kMaxOfRank + 2);
  for (std::size_t i = 0; i < KeptStore::kMaxOfRank; ++i)
    CHECK(store.keep("a" + std::to_string(i), file()).empty());
  CHECK(store.keep("a64", file()) == "file a64 is one more than the 64 that a rank may keep");
  CHECK(store.keep("a5", file()).empty());  // replaces
  CHECK(store.keep("b0", file(1)).empty());
  CHECK(store.keep("b1", file(0, 2)).empty());  // the same rank of a later epoch
  CHECK(store.keep("b2", file(2)).find("that this node can keep") != std::string::npos);
  CHECK(store.files().size() == KeptStore::kMaxOfRank + 2);
}

TEST_CASE("a file without a descriptor or with a negative size is refused") {
  KeptStore store;
  CHECK(store.keep("own.0", {UniqueFd(), 8, 0, 1}).find("ulimit -n") != std::string::npos);
  StoredFile negative = file();
  negative.bytes = -1;
  CHECK(store.keep("own.0", std::move(negative)) == "file own.0 has -1 bytes");
  CHECK(store.files().empty());
}
