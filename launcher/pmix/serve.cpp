// Entry point of libdslaunch_pmix.so: starts the PMIx server of a node and passes frames to it.
#include <fmt/format.h>
#include <pmix.h>
#include <pmix_server.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <future>
#include <optional>
#include <set>
#include <string>

#include "engine/base/deadline.h"
#include "engine/base/error.h"
#include "engine/base/unique_fd.h"
#include "launcher/mpi/pmix_plugin.h"
#include "launcher/pmix/job_info.h"
#include "launcher/pmix/pmix_host.h"

namespace ds::launcher {
namespace {

constexpr std::chrono::milliseconds kLongSleep = std::chrono::hours(1);
constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;

void require(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
  throw Error(ErrorKind::system, fmt::format("{}: {}", what, PMIx_Error_string(status)));
}

/// Waits for an operation of the library that calls back. The library's own thread does it.
template <class Start>
void wait_for(const char* what, Start start) {
  std::promise<pmix_status_t> done;
  const auto finish = [](pmix_status_t status, void* to) {
    static_cast<std::promise<pmix_status_t>*>(to)->set_value(status);
  };
  const pmix_status_t begun = start(static_cast<pmix_op_cbfunc_t>(finish), &done);
  require(begun == PMIX_SUCCESS ? done.get_future().get() : begun, what);
}

/// Reads frames until the agent closes its end or a signal asks to end. Meanwhile calls are
/// answered.
class AgentEnd {
 public:
  explicit AgentEnd(int fd) : fd_(fd) {
    sigset_t ends;
    ::sigemptyset(&ends);
    ::sigaddset(&ends, SIGTERM);
    signals_.reset(::signalfd(-1, &ends, SFD_CLOEXEC));
  }
  std::optional<Message> next(PmixHost* host = nullptr) {
    std::array<std::byte, kReadAtOnce> bytes;
    while (true) {
      if (auto frame = decoder_.next()) return std::move(frame->message);
      if (decoder_.error()) return std::nullopt;
      const int answers = host != nullptr ? host->answers_fd() : -1;
      std::array<pollfd, 3> polled{
          {{fd_, POLLIN, 0}, {signals_.get(), POLLIN, 0}, {answers, POLLIN, 0}}};
      const Deadline due(host != nullptr ? host->wake_at() : Clock::time_point::max());
      const auto left = std::min(due.remaining(), kLongSleep);
      const int ready = ::poll(polled.data(), polled.size(), static_cast<int>(left.count()));
      if (host != nullptr) host->time_out(Clock::now());
      if (ready <= 0) continue;
      if (polled[1].revents != 0) return std::nullopt;
      if (polled[2].revents != 0) host->answer_later();
      if (polled[0].revents == 0) continue;
      const ssize_t count = ::read(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return std::nullopt;
      decoder_.feed(std::span(bytes).first(static_cast<std::size_t>(count)));
    }
  }

 private:
  int fd_;
  UniqueFd signals_;
  Decoder decoder_;
};

class PmixServer {
 public:
  PmixServer(const Spec& spec, std::string folder, PmixHost& host)
      : spec_(spec), folder_(std::move(folder)), host_(host) {}

  void start() {
    InfoList settings;
    settings.add(PMIX_SERVER_NSPACE, spec_.mpi.space + "-servers");
    settings.add_rank(PMIX_SERVER_RANK, static_cast<pmix_rank_t>(spec_.node_rank));
    settings.add(PMIX_SERVER_TMPDIR, folder_);
    settings.add(PMIX_HOSTNAME, spec_.mpi.nodes.at(static_cast<std::size_t>(spec_.node_rank)).name);
    // Each rank would read all of the machine from /sys, while the kernel lets one do so at a time.
    settings.add(PMIX_SERVER_SHARE_TOPOLOGY, true);
    require(PMIx_server_init(PmixHost::module(), settings.data(), settings.size()),
            "PMIx_server_init");
    InfoList info = job_info(spec_, folder_);
    wait_for("PMIx_server_register_nspace", [&](pmix_op_cbfunc_t done, void* call) {
      return PMIx_server_register_nspace(space(), static_cast<int>(spec_.ranks.size()), info.data(),
                                         info.size(), done, call);
    });
    PmixReady ready;
    for (const RankSpec& rank : spec_.ranks) ready.ranks.push_back({variables_of(rank.rank)});
    host_.write(ready);
  }

  void take(Message&& message) {
    if (auto* fence = std::get_if<FenceOut>(&message)) return host_.take(std::move(*fence));
    if (const auto* ask = std::get_if<ModexAsk>(&message)) return host_.take(*ask);
    if (auto* answer = std::get_if<ModexAnswer>(&message)) return host_.take(std::move(*answer));
    if (const auto* names = std::get_if<NameAnswer>(&message)) return host_.take(*names);
    if (const auto* notice = std::get_if<PmixNotice>(&message)) return host_.take(*notice);
    if (const auto* rank = std::get_if<PmixRank>(&message)) host_.rank_ended(rank->rank);
  }

  /// Removes files that the MPI libraries of killed ranks have registered.
  void clean_up() {
    for (const RankSpec& rank : spec_.ranks) {
      const pmix_proc_t proc = proc_of(rank.rank);
      PMIx_server_deregister_client(&proc, nullptr, nullptr);
    }
    std::promise<void> done;
    PMIx_server_deregister_nspace(
        space(),
        [](pmix_status_t /*status*/, void* to) {
          static_cast<std::promise<void>*>(to)->set_value();
        },
        &done);
    done.get_future().wait();
  }

 private:
  [[nodiscard]] const char* space() const { return spec_.mpi.space.c_str(); }
  [[nodiscard]] pmix_proc_t proc_of(std::int32_t rank) const {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, space(), static_cast<pmix_rank_t>(rank));
    return proc;
  }

  EnvList variables_of(std::int32_t rank) {
    const pmix_proc_t proc = proc_of(rank);
    wait_for("PMIx_server_register_client", [&](pmix_op_cbfunc_t done, void* call) {
      return PMIx_server_register_client(&proc, ::geteuid(), ::getegid(), nullptr, done, call);
    });
    char** list = nullptr;
    require(PMIx_server_setup_fork(&proc, &list), "PMIx_server_setup_fork");
    EnvList variables;
    for (char** each = list; each != nullptr && *each != nullptr; ++each) {
      const std::string text = *each;
      const std::size_t equals = text.find('=');
      if (equals != std::string::npos)
        variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    PMIX_ARGV_FREE(list);
    // Open MPI 4 takes itself for a process without a launcher unless its mpirun's daemon is named,
    // then asks PMIx alone. Open MPI 5 ignores these.
    variables.emplace_back("OMPI_MCA_orte_local_daemon_uri", "1.0;tcp://127.0.0.1:9");
    variables.emplace_back("OMPI_MCA_pmix", "^s1,s2,cray,isolated");
    // The launcher binds ranks, or does not (--bind-to): then Open MPI 4 does not bind them itself,
    // and needs no topology for it.
    variables.emplace_back("OMPI_MCA_orte_bound_at_launch", "1");
    return variables;
  }

  const Spec& spec_;
  std::string folder_;
  PmixHost& host_;
};

/// The library may hang in its clean-up; the agent kills this process then.
int serve(int fd, const char* folder) {
  AgentEnd agent(fd);
  std::optional<Message> first = agent.next();
  if (!first || !std::holds_alternative<Spec>(*first)) return 0;
  const Spec spec = std::get<Spec>(std::move(*first));
  PmixHost& host = PmixHost::make(fd, spec);
  PmixServer server(spec, folder, host);
  try {
    server.start();
  } catch (const Error& error) {
    host.write(Problem{"cannot start the PMIx server: " + error.for_people()});
    return 1;
  }
  while (auto message = agent.next(&host)) server.take(std::move(*message));
  server.clean_up();
  return 0;
}

}  // namespace
}  // namespace ds::launcher

extern "C" [[gnu::visibility("default")]] const ds::launcher::PmixPlugin* dslaunch_pmix() {
  static const ds::launcher::PmixPlugin plugin{ds::launcher::kWireVersion, ds::launcher::serve};
  return &plugin;
}
