// Which signals are a request of their own.
#include "launcher/fleet/stop_signals.h"

#include <doctest/doctest.h>

#include <csignal>

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

const ds::Clock::time_point kBegin{1h};

}  // namespace

TEST_CASE("TERM and HUP within 2 s are one request, a later one is the next") {
  StopSignals signals;
  CHECK(signals.counts(SIGTERM, kBegin));
  CHECK_FALSE(signals.counts(SIGTERM, kBegin + 5us));
  CHECK_FALSE(signals.counts(SIGHUP, kBegin + 1999ms));
  CHECK(signals.count() == 1);
  CHECK(signals.counts(SIGTERM, kBegin + 2s));
  CHECK_FALSE(signals.counts(SIGTERM, kBegin + 3s));
  CHECK(signals.count() == 2);
}

TEST_CASE("a key that is pressed again after 0.3 s is a request of its own, also after TERM") {
  StopSignals signals;
  CHECK(signals.counts(SIGINT, kBegin));
  CHECK_FALSE(signals.counts(SIGINT, kBegin + 299ms));
  CHECK(signals.counts(SIGINT, kBegin + 300ms));
  CHECK(signals.counts(SIGTERM, kBegin + 301ms));
  CHECK(signals.count() == 3);
}

TEST_CASE("what a client asks for always counts") {
  StopSignals signals;
  CHECK(signals.counts(SIGTERM, kBegin));
  CHECK(signals.counts(SIGTERM, kBegin + 1ms, true));
}
