// The launcher's end of a channel: which beats it leaves out.
#include <doctest/doctest.h>

#include "fake_transport.h"
#include "launcher/fleet/agent_links.h"

using namespace ds::launcher;

namespace {

/// A link to an agent that counts the beats it hears.
struct BeatCounter {
  BeatCounter() { link.open(transport, Host{.name = "a"}); }

  /// How many beats have come up to now.
  int heard() {
    io.restart();
    io.run();
    return beats;
  }
  void beat() { link.beat({}); }

  asio::io_context io;
  int beats = 0;
  FakeAgent* agent = nullptr;
  FakeTransport transport{io, [this](const Host&, FakeAgent& opened) { agent = &opened; },
                          [this](FakeAgent&, const Message& message) {
                            beats += std::holds_alternative<Heartbeat>(message) ? 1 : 0;
                          }};
  LinkEvents events{.on_heard = [](int) {},
                    .on_message = [](int, Message&) {},
                    .on_lost = {},
                    .on_continued = {}};
  NodeLink link{0, "a", Envelope{}, events};
};

}  // namespace

TEST_CASE("no beat before the agent has spoken") {
  BeatCounter counter;
  counter.beat();
  counter.beat();
  CHECK(counter.heard() == 0);
  counter.agent->say_raw(kPreamble);
  CHECK(counter.heard() == 0);
  counter.beat();
  CHECK(counter.heard() == 0);
  counter.agent->say(Hello{});
  CHECK(counter.heard() == 0);
  counter.beat();
  CHECK(counter.heard() == 1);
}

TEST_CASE("a beat is left out after anything else, never two in a row") {
  BeatCounter counter;
  counter.agent->say_raw(kPreamble);
  counter.agent->say(Hello{});
  counter.heard();
  for (int period = 1; period <= 6; ++period) {
    counter.link.send(Resume{});
    counter.beat();
    CHECK(counter.heard() == period / 2);
  }
  counter.beat();
  counter.beat();
  CHECK(counter.heard() == 5);
}
