// Rendezvous: rank 0's coordinator, a listening socket per rank, and one mesh of links per group.
#include "engine/comm/mesh/mesh_collectives.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/base/error.h"
#include "engine/comm/bytes.h"
#include "engine/comm/mesh/mesh_group.h"
#include "engine/comm/mesh/socket.h"

namespace ds::comm {
namespace {

using namespace std::chrono_literals;

// What the members of a group tell each other: where this one listens, and how to read its memory.
struct Card {
  Endpoint at;
  MemoryCard memory;
};

std::string encode(const Card& card) {
  ByteWriter out;
  out.put(card.at.address).put(static_cast<std::uint64_t>(card.at.port));
  out.put(card.memory.machine).put(card.memory.pid_namespace).put(card.memory.process);
  return out.put(card.memory.address).put(card.memory.word).take();
}

Card decode_card(std::string_view bytes) {
  ByteReader in(bytes);
  return {.at = {.address = in.text(), .port = static_cast<int>(in.number())},
          .memory = {.machine = in.text(),
                     .pid_namespace = in.number(),
                     .process = in.number(),
                     .address = in.number(),
                     .word = in.number()}};
}

}  // namespace

std::unique_ptr<Group> make_single_group(const GroupSpec& spec) {
  MeshGroup::Parts parts{.spec = spec};
  parts.links.resize(1);
  return std::make_unique<MeshGroup>(std::move(parts));
}

struct MeshCollectives::Mesh {
  const GroupSpec& spec;
  std::string name;  // unique in the job
  int own = 0;       // this rank's place in the group
  Deadline deadline;
  Clock::time_point begun = Clock::now();

  [[nodiscard]] int size() const { return static_cast<int>(spec.ranks.size()); }
  [[nodiscard]] int rank_of(int place) const { return spec.ranks[static_cast<std::size_t>(place)]; }
  [[nodiscard]] std::string link_from(int place) const {
    return fmt::format("link {} {}", name, place);
  }
  [[nodiscard]] Error without(const std::vector<int>& ranks) const {
    return {ErrorKind::comm,
            fmt::format("rank {} (of group {}): rendezvous: no answer from {} {} after {:.3g} s",
                        rank_of(own), spec.name, ranks.size() == 1 ? "rank" : "ranks",
                        fmt::join(ranks, ", "), seconds_of(Clock::now() - begun))};
  }
};

MeshCollectives::MeshCollectives(const Rendezvous& rendezvous)
    : rendezvous_(rendezvous),
      membership_{rendezvous.job_key, fmt::format("{}/{}", rendezvous.job_id, rendezvous.epoch)},
      wire_(rendezvous.test_wire ? std::make_shared<SlowWire>(*rendezvous.test_wire) : nullptr) {
  rank() == 0 ? start_rank_0() : join_rank_0();
  guard_ = std::make_shared<HangGuard>(HangGuard::Setup{.rank = rank(),
                                                        .patience = rendezvous_.hang_after,
                                                        .activity = activity_,
                                                        .coordinator = coordinator_});
}

void MeshCollectives::start_rank_0() {
  auto own = std::make_shared<Coordinator>(world_size(), rendezvous_.hang_after);
  acceptor_ = std::make_unique<Acceptor>(
      listen_on({rendezvous_.master_addr, rendezvous_.master_port}), membership_,
      [own](std::string_view request) { return own->answer(request); });
  if (rendezvous_.job_key.empty() && !endpoint().is_loopback()) {
    fmt::print(stderr,
               "warning: no DSLAUNCH_JOB_KEY: any program that can reach {} can join this job; use "
               "this only in trusted networks\n",
               endpoint().text());
  }
  coordinator_ = std::make_shared<CoordinatorClient>(own);
}

// Binds this rank's listening socket only to the address by which it reached rank 0: peers can
// reach it there, and nobody else needs to.
void MeshCollectives::join_rank_0() {
  const Deadline deadline = Deadline::after(rendezvous_.timeout);
  const Endpoint master{rendezvous_.master_addr, rendezvous_.master_port};
  try {
    coordinator_ = std::make_shared<CoordinatorClient>(master, membership_, deadline);
  } catch (const Error& error) {
    // Only this rank knows that it was refused. A config error would let one rank report it for
    // all.
    if (error.kind() == ErrorKind::config) {
      throw Error(ErrorKind::comm, fmt::format("rank {}: {}", rank(), error.what()), error.hint());
    }
    if (error.kind() != ErrorKind::comm) throw;
    throw Error(ErrorKind::comm,
                fmt::format("rank {}: rank 0 did not answer within {:.3g} s: {}", rank(),
                            seconds_of(rendezvous_.timeout), error.what()),
                "check that rank 0 is running and that MASTER_ADDR is an address of its node that "
                "this node can reach");
  }
  const Endpoint own = coordinator_->own_endpoint();
  acceptor_ = std::make_unique<Acceptor>(listen_on({own.address, 0}), membership_);
}

std::string MeshCollectives::unique_name(const std::string& name) {
  return fmt::format("{}/{}", name, ++made_[name]);
}

std::unique_ptr<Group> MeshCollectives::make_group(const GroupSpec& spec, Deadline deadline) {
  const auto self = std::ranges::find(spec.ranks, rank());
  DS_ASSERT(self != spec.ranks.end(), "only members make a group");
  if (spec.ranks.size() == 1) return make_single_group(spec);
  const Mesh mesh{.spec = spec,
                  .name = unique_name(fmt::format("{}/{}", spec.name, spec.epoch)),
                  .own = static_cast<int>(self - spec.ranks.begin()),
                  .deadline = deadline};
  auto memory = std::make_shared<OwnMemory>(rendezvous_.shared_memory);
  const std::vector<std::string> cards =
      meet(mesh, mesh.name, encode(Card{endpoint(), memory->card()}));
  std::vector<UniqueFd> links = make_links(mesh, cards);
  std::vector<PeerMemory> memories = find_memories(mesh, memory->card(), cards);
  return std::make_unique<MeshGroup>(MeshGroup::Parts{.spec = spec,
                                                      .rank = mesh.own,
                                                      .links = std::move(links),
                                                      .memories = std::move(memories),
                                                      .memory = std::move(memory),
                                                      .coordinator = coordinator_,
                                                      .guard = guard_,
                                                      .wire = wire_,
                                                      .mesh = mesh.name});
}

std::unique_ptr<CallWatch> MeshCollectives::watch_calls(const GroupSpec& spec, WatchedCalls calls) {
  const auto self = std::ranges::find(spec.ranks, rank());
  const Mesh mesh{.spec = spec,
                  .name = unique_name(fmt::format("{}/{}/calls", spec.name, spec.epoch)),
                  .own = static_cast<int>(self - spec.ranks.begin()),
                  .deadline = Deadline::after(rendezvous_.timeout)};
  static_cast<void>(meet(mesh, mesh.name, ""));
  return std::make_unique<CallLog>(guard_, mesh.name, std::move(calls));
}

std::vector<std::string> MeshCollectives::meet(const Mesh& mesh, const std::string& name,
                                               std::string_view card) {
  CoordinatorClient::Meeting meeting =
      coordinator_->meet(name, mesh.spec, mesh.own, card, mesh.deadline);
  if (!meeting.absent.empty()) throw mesh.without(meeting.absent);
  return std::move(meeting.cards);
}

// Each member dials those before it. A link that breaks before its dialer knows of it is dialed
// again, so links are taken only when every member has all of its own.
std::vector<UniqueFd> MeshCollectives::make_links(const Mesh& mesh,
                                                  const std::vector<std::string>& cards) {
  std::vector<UniqueFd> links(cards.size());
  for (int place = 0; place < mesh.own; ++place) {
    const auto index = static_cast<std::size_t>(place);
    links[index] = dial_member(mesh, place, cards[index]);
  }
  std::vector<int> absent;
  for (int place = mesh.own + 1; place < mesh.size(); ++place) {
    if (!acceptor_->wait_for_link(mesh.link_from(place), mesh.deadline))
      absent.push_back(mesh.rank_of(place));
  }
  if (!absent.empty()) throw mesh.without(absent);
  static_cast<void>(meet(mesh, mesh.name + "/links", ""));
  for (int place = mesh.own + 1; place < mesh.size(); ++place)
    links[static_cast<std::size_t>(place)] = acceptor_->take_link(mesh.link_from(place));
  for (const UniqueFd& link : links)
    if (link) watch_peer(link.get());
  return links;
}

// Rank 0 listens where this rank reached it.
UniqueFd MeshCollectives::dial_member(const Mesh& mesh, int place, const std::string& card) {
  const Endpoint to = mesh.rank_of(place) == 0 ? coordinator_->rank_0() : decode_card(card).at;
  try {
    return open_connection(to, membership_, mesh.link_from(mesh.own), mesh.deadline);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::comm || !mesh.deadline.passed()) throw;
    throw mesh.without({mesh.rank_of(place)});
  }
}

// One line per machine says why memory cannot be read: only its first two ranks tell, once.
std::vector<PeerMemory> MeshCollectives::find_memories(const Mesh& mesh, const MemoryCard& own,
                                                       const std::vector<std::string>& cards) {
  std::vector<PeerMemory> memories(cards.size());
  for (int place = 0; place < mesh.size(); ++place) {
    if (place == mesh.own) continue;
    const auto index = static_cast<std::size_t>(place);
    memories[index] = PeerMemory(own, decode_card(cards[index]).memory);
    const std::string& obstacle = memories[index].obstacle();
    if (obstacle.empty() || std::exchange(obstacle_told_, true) || mesh.own > place) continue;
    fmt::print(stderr,
               "warning: ranks {} and {} are on one machine but exchange data over TCP: {}; this "
               "costs speed only\n",
               rank(), mesh.rank_of(place), obstacle);
  }
  return memories;
}

}  // namespace ds::comm
