// Tests of CreditBook: grants follow what arrived, and wait while held.
#include <doctest/doctest.h>

#include "launcher/logs/flow_control.h"
#include "launcher/wire/frame.h"

namespace {

using namespace ds::launcher;
using Grants = std::vector<std::pair<std::size_t, std::uint64_t>>;

}  // namespace

TEST_CASE("windows share what there is, within bounds") {
  CHECK(CreditBook(1).window() == CreditBook::kMost);
  CHECK(CreditBook(64).window() == CreditBook::kTotal / 64);
  CHECK(CreditBook(10000).window() == CreditBook::kLeast);
}

TEST_CASE("many nodes share the total, and send frames that suit their windows") {
  CHECK(CreditBook(1000).window() * 1000 <= CreditBook::kTotal);
  CHECK(CreditBook(1024).window() * 1024 <= CreditBook::kTotal);
  CHECK(CreditBook::frame_of(CreditBook(1).window()) == CreditBook::kMostInFrame);
  CHECK(CreditBook::frame_of(CreditBook(1000).window()) == CreditBook(1000).window() / 4);
}

TEST_CASE("what is owed never keeps a node from its next frame") {
  for (const std::size_t nodes : {1, 7, 64, 1000, 100000}) {
    const std::uint64_t window = CreditBook(nodes).window();
    const std::uint64_t most_owed = window / 4 - 1;
    CHECK(window - most_owed >= CreditBook::frame_of(window) + kOutputHeaderBytes);
  }
}

TEST_CASE("what has come is granted again, in larger pieces") {
  CreditBook book(1);
  const std::uint64_t quarter = book.window() / 4;
  CHECK_FALSE(book.took(0, quarter - 1));
  CHECK(book.took(0, 1) == quarter);
  CHECK_FALSE(book.took(0, 1));
}

TEST_CASE("while it is held nobody is granted anything; then everybody what is owed") {
  CreditBook book(2);
  book.hold();
  CHECK(book.held());
  CHECK_FALSE(book.took(0, book.window()));
  CHECK_FALSE(book.took(1, 5));
  CHECK_FALSE(book.took(7, 9));  // an agent that came later
  CHECK(book.release() == Grants{{0, book.window()}, {1, 5}, {7, 9}});
  CHECK_FALSE(book.held());
  CHECK(book.release().empty());
}
