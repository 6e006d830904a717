// Runs one job: carries out what JobState decides, on one event loop.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/fleet/agent_links.h"
#include "launcher/hosts/network.h"
#include "launcher/hosts/placement.h"
#include "launcher/job/hostfile_watch.h"
#include "launcher/job/job_state.h"
#include "launcher/job/rank_environment.h"
#include "launcher/logs/log_policy.h"
#include "launcher/transport/transport.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// What the ranks of one group run.
struct Program {
  std::vector<std::string> argv;
  EnvList env{};  // of this group alone; overrides JobEnvironment::given
  std::string working_directory{};
};

/// What a running job may be asked to do.
struct JobOrders {
  std::function<void(int signo)> signal;  // like HUP, INT or TERM to this process
  /// The nodes of these hosts were told to end. They leave the job, or it stops as by TERM if too
  /// few would be left. Only for a job whose number of nodes may change.
  std::function<void(const std::vector<std::string>& hosts)> leave;
  /// Adds a host whose node has dialed in; nothing happens if it is in the job already. Returns why
  /// it cannot take part; else empty.
  std::function<std::string(const Host& host, const NodeRoute& route)> add;
};

struct JobRequest {
  Placement placement;
  std::vector<Program> programs;  // by group
  std::uint32_t umask = 022;
  Isolate isolate = Isolate::none;
  std::vector<ResourceLimit> limits{};  // soft ones, for ranks on other nodes
  JobEnvironment environment;
  bool trains = false;       // the program is dsrunner, with a train.toml
  bool own_devices = false;  // each rank sees the device of its slot alone
  MpiWire mpi = MpiWire::none;
  Bind bind = Bind::none;
  LevelBinding level{};          // if bind is Bind::level
  bool bind_by_default = false;  // not on nodes with fewer cores than ranks
  bool tell_binding = false;     // prints where each rank runs
  JobPolicy policy;
  // With policy.elastic: `placement` and `spares` only list the hosts.
  std::optional<RankRange> elastic_ranks{};  // of the smallest and the largest job
  std::optional<Placement> widest{};         // of the largest job
  MasterRequest master;
  LogPolicy logs;
  std::string verdict_file;            // --verdict; empty: none
  std::vector<std::string> secrets{};  // values to hide in the ranks' output
  std::vector<Host> spares;            // stand in for hosts that cannot be used or are lost
  std::vector<NodeRoute> routes;       // by node rank, then by spare
  std::function<NodeRoute(const Host&)> route_to{};  // of a host that is added; null: none can be
  HostfileReader read_hostfile{};  // null: its changes are not followed
  std::vector<Host> hostfile{};    // what it named at the start
  bool open = false;                                 // JobOrders::add may add hosts that dial in
  int in_fd = 0;
  int out_fd = 1;
  int err_fd = 2;

  std::uint64_t job_id = 0;                      // 0: a random one
  std::string run_id{};                          // TORCHELASTIC_RUN_ID; empty: the job's id
  std::vector<std::string> control_folders;      // for its private socket; empty: none
  std::string log_file;                          // receives the output of a detached job
  std::function<void(std::string_view)> on_say;  // lines of the launcher itself, besides err_fd
  std::function<void()> on_running;              // every rank has begun
  std::function<void(const JobOrders&)> on_begin;  // they may be called while the job runs
  /// The node of this host, which was told to end, is no longer needed once its agent has ended.
  std::function<void(const std::string& host)> let_go;
  std::function<bool()> heeds_signal;  // called for each of them; false: ignore it
  std::function<void(const std::string& json)> on_verdict;  // as in --verdict; before the end
};

/// Starts the ranks, relays their output, handles HUP, INT, TERM and TSTP, and returns the exit
/// code of dslaunch once all ranks have ended and all output is written. Errors:  Error{system}
/// if timers or signals are not available; Error{usage} and Error{config} for invalid `logs`.
int run_job(asio::io_context& io, JobRequest request);

}  // namespace ds::launcher
