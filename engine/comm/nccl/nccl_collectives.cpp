// NcclCollectives: gives all members of a group one communicator, or all the same error.
#include "engine/comm/nccl/nccl_collectives.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "engine/base/error.h"
#include "engine/comm/nccl/nccl_group.h"
#include "engine/comm/notes.h"
#include "engine/device/cuda/check.h"

namespace ds::comm {
namespace {

using namespace std::chrono_literals;
constexpr Clock::duration kTell = 5s;  // time for the members to tell each other their results

// Keeps what the user has set, and sends NCCL's messages where the rank's others go. Two
// communicators of one device deadlock when devices start their kernels in different orders. With
// NCCL_LAUNCH_ORDER_IMPLICIT (since 2.26) NCCL keeps the order in which the host issued them, which
// is the program's on every rank.
void set_environment() {
  ::setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
  const bool talks = std::getenv("NCCL_DEBUG") != nullptr;
  if (talks) ::setenv("NCCL_DEBUG_FILE", "/dev/stderr", 0);
}

/// The unique id, or the reason why there is none.
struct Invite {
  ncclUniqueId id{};
  Note why{};
};

Invite make_invite(const NcclApi& api) {
  Invite invite;
  const ncclResult_t code = api.get_unique_id(&invite.id);
  if (code != ncclSuccess) invite.why = note_of(error_text(api, nullptr, code));
  return invite;
}

class NcclCollectives final : public Collectives {
 public:
  explicit NcclCollectives(Collectives& host);
  [[nodiscard]] Activity& activity() override { return host_.activity(); }
  [[nodiscard]] int rank() const override { return host_.rank(); }
  [[nodiscard]] int world_size() const override { return host_.world_size(); }
  std::unique_ptr<Group> make_group(const GroupSpec& spec, Deadline deadline) override;

 private:
  [[nodiscard]] std::string meet(const NcclApi& api, Group& control, Communicator& comm,
                                 const GroupSpec& spec, Deadline deadline) const;

  Collectives& host_;
  int cuda_device_ = 0;
};

NcclCollectives::NcclCollectives(Collectives& host) : host_(host) {
  cuda::check(cudaGetDevice(&cuda_device_), "finding the device of NCCL's groups");
  set_environment();
  static_cast<void>(nccl_api());  // fails before the other ranks wait for this one
}

std::unique_ptr<Group> NcclCollectives::make_group(const GroupSpec& spec, Deadline deadline) {
  const auto self = std::ranges::find(spec.ranks, rank());
  DS_ASSERT(self != spec.ranks.end(), "only members make a group");
  GroupSpec control_spec = spec;
  control_spec.name += ".control";
  std::unique_ptr<Group> control = host_.make_group(control_spec, deadline);
  const NcclApi& api = nccl_api();
  auto comm = std::make_unique<Communicator>(api);
  const std::string why = meet(api, *control, *comm, spec, deadline);
  if (!why.empty()) {
    throw Error(
        ErrorKind::comm,
        fmt::format("rank {} (of group {}): NCCL did not start: {}", rank(), spec.name, why),
        "set NCCL_DEBUG=INFO to see what NCCL tries; check that no other rank uses the same GPU "
        "and that the other ranks can reach the interface NCCL_SOCKET_IFNAME");
  }
  return std::make_unique<NcclGroup>(
      NcclGroup::Parts{.spec = spec,
                       .rank = static_cast<int>(self - spec.ranks.begin()),
                       .api = &api,
                       .comm = std::move(comm),
                       .control = std::move(control),
                       .cuda_device = cuda_device_,
                       .activity = &host_.activity(),
                       .host = &host_});
}

// Every member gets to the end, also when its own start failed, so all throw the same text. The
// host's group names a member that does not arrive.
std::string NcclCollectives::meet(const NcclApi& api, Group& control, Communicator& comm,
                                  const GroupSpec& spec, Deadline deadline) const {
  control.about("NCCL's unique id");
  Invite invite = control.rank() == 0 ? make_invite(api) : Invite{};
  control.broadcast(std::as_writable_bytes(std::span(&invite, 1)), deadline);
  Communicator::Failure failure;
  if (invite.why[0] != '\0') {
    if (control.rank() == 0) failure = invite.why.data();
  } else {
    failure = comm.start(invite.id, control.rank(), control.size(), spec.name, deadline);
  }
  control.about("the start of NCCL");
  const std::vector<std::string> failures = exchange_notes(
      control, failure.value_or(""), Deadline(std::max(deadline.at(), Clock::now() + kTell)));
  std::string text;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (failures[i].empty()) continue;
    text += fmt::format("{}rank {}: {}", text.empty() ? "" : "; ", spec.ranks[i], failures[i]);
  }
  return text;
}

}  // namespace

std::unique_ptr<Collectives> make_nccl_collectives(Device&, Collectives& host) {
  return std::make_unique<NcclCollectives>(host);
}

}  // namespace ds::comm
