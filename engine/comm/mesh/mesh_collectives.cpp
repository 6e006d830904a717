// Rendezvous: rank 0's store, a listening socket per rank, and one mesh of links per group.
#include "engine/comm/mesh/mesh_collectives.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/base/error.h"
#include "engine/comm/local/single.h"
#include "engine/comm/mesh/guarded_calls.h"
#include "engine/comm/mesh/mesh_group.h"
#include "engine/comm/mesh/socket.h"

namespace ds::comm {
namespace {

std::string list_of(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

double seconds(Clock::duration span) { return std::chrono::duration<double>(span).count(); }

}  // namespace

MeshCollectives::MeshCollectives(const Rendezvous& rendezvous) : rendezvous_(rendezvous) {
  rank() == 0 ? open_door_of_rank_0() : open_door_of_others();
  const Endpoint store = peer_endpoint(store_->descriptor());
  guard_ = std::make_shared<HangGuard>(
      HangGuard::Setup{.rank = rank(),
                       .world_size = world_size(),
                       .patience = rendezvous_.hang_after,
                       .store = {store.address, store.port, rendezvous_.job_key, job()},
                       .activity = activity_});
}

std::string MeshCollectives::job() const {
  return fmt::format("{}/{}", rendezvous_.job_id, rendezvous_.epoch);
}

void MeshCollectives::open_door_of_rank_0() {
  const Deadline deadline = Deadline::after(rendezvous_.timeout);
  door_ = std::make_unique<Door>(listen_on(rendezvous_.master_addr, rendezvous_.master_port),
                                 Household{rendezvous_.job_key, job(), true});
  const Endpoint own = door_->endpoint();
  if (rendezvous_.job_key.empty() && !own.is_loopback()) {
    fmt::print(stderr,
               "warning: no DSLAUNCH_JOB_KEY: any program that can reach {} can join this job; use "
               "this only in trusted networks\n",
               own.text());
  }
  const bool everywhere = own.address == "::" || own.address == "0.0.0.0";
  store_ = std::make_shared<StoreClient>(
      Invitation{everywhere ? "127.0.0.1" : own.address, own.port, rendezvous_.job_key, job()},
      deadline);
}

// Binds this rank's listening socket only to the address by which it reached rank 0: peers can
// reach it there, and nobody else needs to.
void MeshCollectives::open_door_of_others() {
  const Deadline deadline = Deadline::after(rendezvous_.timeout);
  try {
    store_ = std::make_shared<StoreClient>(
        Invitation{rendezvous_.master_addr, rendezvous_.master_port, rendezvous_.job_key, job()},
        deadline);
  } catch (const Error& error) {
    // Only this rank knows that it was refused. A config error would let one rank report it for
    // all.
    if (error.kind() == ErrorKind::config) {
      throw Error(ErrorKind::comm, fmt::format("rank {}: {}", rank(), error.what()), error.hint());
    }
    if (error.kind() != ErrorKind::comm) throw;
    throw Error(ErrorKind::comm,
                fmt::format("rank {}: rank 0 did not answer within {:.3g} s: {}", rank(),
                            seconds(rendezvous_.timeout), error.what()),
                "check that rank 0 is running and that MASTER_ADDR is an address of its node that "
                "this node can reach");
  }
  const Endpoint own = local_endpoint(store_->descriptor());
  door_ = std::make_unique<Door>(listen_on(own.address, 0),
                                 Household{rendezvous_.job_key, job(), false});
  store_->set(fmt::format("door/{}", rank()), door_->endpoint().text(), deadline);
}

// Rank 0 listens where this rank reached the store.
Invitation MeshCollectives::invitation_to(int to, Deadline deadline) {
  Endpoint endpoint = peer_endpoint(store_->descriptor());
  if (to != 0) {
    const std::optional<std::string> text = store_->wait(fmt::format("door/{}", to), deadline);
    const std::optional<Endpoint> found = text ? parse_endpoint(*text) : std::nullopt;
    if (!found)
      throw Error(ErrorKind::comm, fmt::format("rank {} did not publish its address", to));
    endpoint = *found;
  }
  return {endpoint.address, endpoint.port, rendezvous_.job_key, job()};
}

std::vector<int> MeshCollectives::missing(const GroupSpec& spec, const std::string& mesh) {
  std::vector<int> ranks;
  const Deadline soon = Deadline::after(std::chrono::seconds(2));
  for (const int member : spec.ranks) {
    if (!store_->get(fmt::format("{}/ready/{}", mesh, member), soon)) ranks.push_back(member);
  }
  return ranks;
}

struct MeshCollectives::Mesh {
  const GroupSpec& spec;
  std::string name;  // unique in the job
  int own = 0;       // this rank's place in the group
  Deadline deadline;
  std::vector<UniqueFd> links;
  Clock::time_point begun = Clock::now();

  [[nodiscard]] int size() const { return static_cast<int>(spec.ranks.size()); }
  [[nodiscard]] int rank_of(int place) const { return spec.ranks[static_cast<std::size_t>(place)]; }
  [[nodiscard]] UniqueFd& link(int place) { return links[static_cast<std::size_t>(place)]; }
  [[nodiscard]] std::string link_from(int place) const { return fmt::format("{} {}", name, place); }
  [[nodiscard]] Error without(const std::vector<int>& ranks) const {
    return {ErrorKind::comm,
            fmt::format("rank {} (of group {}): rendezvous: no answer from {} after {:.3g} s",
                        rank_of(own), spec.name, list_of(ranks), seconds(Clock::now() - begun))};
  }
};

std::unique_ptr<Group> MeshCollectives::make_group(const GroupSpec& spec, Deadline deadline) {
  const auto self = std::find(spec.ranks.begin(), spec.ranks.end(), rank());
  DS_ASSERT(self != spec.ranks.end(), "only members make a group");
  if (spec.ranks.size() == 1) return std::make_unique<SingleGroup>(spec);
  const std::string name = fmt::format("{}/{}", spec.name, spec.epoch);
  Mesh mesh{.spec = spec,
            .name = fmt::format("{}/{}", name, ++meshes_made_[name]),
            .own = static_cast<int>(self - spec.ranks.begin()),
            .deadline = deadline,
            .links = std::vector<UniqueFd>(spec.ranks.size())};
  list_members(mesh.name, spec, deadline);
  dial_earlier_members(mesh);
  await_later_members(mesh);
  for (const UniqueFd& link : mesh.links) {
    if (link) watch_peer(link.get());
  }
  auto memory = std::make_shared<OwnMemory>(rendezvous_.shared_memory);
  std::vector<PeerMemory> memories = exchange_cards(mesh, *memory);
  return std::make_unique<MeshGroup>(MeshGroup::Parts{.spec = spec,
                                                      .rank = mesh.own,
                                                      .links = std::move(mesh.links),
                                                      .memories = std::move(memories),
                                                      .memory = std::move(memory),
                                                      .store = store_,
                                                      .guard = guard_,
                                                      .mesh = mesh.name});
}

// Every member has its links by now, so a card arrives soon; each fits into the socket's buffer.
std::vector<PeerMemory> MeshCollectives::exchange_cards(Mesh& mesh, const OwnMemory& own) {
  const Deadline soon(std::max(mesh.deadline.at(), Clock::now() + std::chrono::seconds(2)));
  const auto own_bytes = std::as_bytes(std::span(&own.card(), 1));
  for (const UniqueFd& link : mesh.links)
    if (link) static_cast<void>(write_all(link.get(), own_bytes, soon));
  std::vector<PeerMemory> memories(mesh.links.size());
  for (int place = 0; place < mesh.size(); ++place) {
    if (place == mesh.own) continue;
    MemoryCard card;
    const auto bytes = std::as_writable_bytes(std::span(&card, 1));
    if (read_exactly(mesh.link(place).get(), bytes, soon) != IoResult::done)
      throw mesh.without({mesh.rank_of(place)});
    PeerMemory& memory = memories[static_cast<std::size_t>(place)];
    memory = PeerMemory(own.card(), card);
    if (!memory.obstacle().empty()) tell_obstacle(mesh, place, memory);
  }
  return memories;
}

// One line per machine: only its first two ranks tell, once.
void MeshCollectives::tell_obstacle(const Mesh& mesh, int place, const PeerMemory& memory) {
  if (std::exchange(obstacle_told_, true) || mesh.own > place) return;
  fmt::print(
      stderr,
      "warning: ranks {} and {} are on one machine but exchange data over TCP: {}; this costs "
      "speed only\n",
      rank(), mesh.rank_of(place), memory.obstacle());
}

std::unique_ptr<CallWatch> MeshCollectives::watch_calls(
    const GroupSpec& spec, std::function<void(const std::string&)> give_up) {
  const std::string calls = fmt::format("{}/{}/calls", spec.name, spec.epoch);
  const std::string name = fmt::format("{}/{}", calls, ++meshes_made_[calls]);
  list_members(name, spec, Deadline::after(rendezvous_.timeout));
  return std::make_unique<GuardedCalls>(guard_, name, std::move(give_up));
}

// The hang guard of rank 0 reads the list.
void MeshCollectives::list_members(const std::string& name, const GroupSpec& spec,
                                   Deadline deadline) {
  if (spec.ranks.front() == rank())
    store_->set(name + "/members", fmt::format("{}", fmt::join(spec.ranks, " ")), deadline);
}

void MeshCollectives::dial_earlier_members(Mesh& mesh) {
  for (int place = 0; place < mesh.own; ++place) {
    try {
      mesh.link(place) = visit(invitation_to(mesh.rank_of(place), mesh.deadline),
                               "link " + mesh.link_from(mesh.own), mesh.deadline);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::comm || !mesh.deadline.passed()) throw;
      throw mesh.without({mesh.rank_of(place)});
    }
  }
}

// A link that breaks after the welcome is dialed again, so links are taken only when every member
// has all of its own.
void MeshCollectives::await_later_members(Mesh& mesh) {
  std::vector<int> absent;
  for (int place = mesh.own + 1; place < mesh.size(); ++place) {
    if (!door_->wait_for_link(mesh.link_from(place), mesh.deadline))
      absent.push_back(mesh.rank_of(place));
  }
  if (!absent.empty()) throw mesh.without(absent);
  const Deadline soon(std::max(mesh.deadline.at(), Clock::now() + std::chrono::seconds(2)));
  store_->set(fmt::format("{}/ready/{}", mesh.name, rank()), "", soon);
  if (store_->add(mesh.name + "/ready", 1, soon) == mesh.size())
    store_->set(mesh.name + "/go", "", soon);
  if (!store_->wait(mesh.name + "/go", mesh.deadline))
    throw mesh.without(missing(mesh.spec, mesh.name));
  for (int place = mesh.own + 1; place < mesh.size(); ++place)
    mesh.link(place) = door_->take_link(mesh.link_from(place));
}

}  // namespace ds::comm
