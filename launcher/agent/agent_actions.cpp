// AgentLoop: performs the actions of AgentState, watches the neighbors, and drains the channel at
// the end.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "engine/base/contract.h"
#include "launcher/agent/agent.h"
#include "launcher/hosts/fold_names.h"

namespace ds::launcher {
namespace {

/// Limit for sending the last frames while the root is silent. A root that is alive but does not
/// read waits for its own reader.
constexpr std::chrono::seconds kDrainLimit{10};
/// Limit for sending the last frames after the root or a neighbor was lost.
constexpr std::chrono::milliseconds kBadDrainLimit{500};
/// Processes that are killed or stopped together are hit within this time.
constexpr std::chrono::milliseconds kHitSpan{1200};

constexpr const char* kErrorFileVariable = "TORCHELASTIC_ERROR_FILE";

/// Returns true if the user has set the variable.
bool names_error_file(const Spec& spec, const RankSpec& rank) {
  const EnvList& of_program = spec.programs.at(static_cast<std::size_t>(rank.program)).env;
  for (const EnvList* list : {&spec.env, &of_program, &rank.env}) {
    if (std::ranges::any_of(*list, [](const auto& v) { return v.first == kErrorFileVariable; }))
      return true;
  }
  return false;
}

}  // namespace

void AgentLoop::tell(const AgentEvent& event) {
  for (const AgentAction& action : state_.on(event, Clock::now()))
    std::visit([this](const auto& a) { perform(a); }, action);
}

void AgentLoop::lose_root(const std::string& why) {
  if (!bad_since_) bad_since_ = Clock::now();
  tell(RootLost{why});
}

void AgentLoop::perform(const Send& action) {
  const Message& message = action.message;
  if (std::holds_alternative<Heartbeat>(message)) return send_heartbeat();
  // The last frame must not overtake output.
  if (std::holds_alternative<Bye>(message) || std::holds_alternative<Cleared>(message))
    return channel_.send_last(envelope_, message);
  channel_.send_control(envelope_, message);
}

void AgentLoop::send_heartbeat() {
  if (!channel_.takes_news()) return;  // the frames that wait say that this agent lives
  const Clock::time_point now = Clock::now();
  Heartbeat beat{.sent = clock_value(now)};
  if (heard_beat_) {
    beat.heard = heard_beat_->sent;
    beat.held = clock_value(now) - clock_value(heard_beat_at_);
  }
  channel_.send_control(envelope_, beat);
}

Cookie AgentLoop::own_cookie() const {
  const ProcessRef self = ProcessRef::of(::getpid());
  return {state_.spec()->job_cookie, self.pid(), self.start_time()};
}

void AgentLoop::hold_master_port() {
  const Spec& spec = *state_.spec();
  check_.stop();
  namespace_.enter(spec.isolate);
  if (spec.isolate == Isolate::required) {
    // Any set of stopped links must end by itself, too.
    link_.resist_stops();
    ::kill(guard_.process().pid(), kResistStops);
  }
  if (folder_.path().empty()) folder_ = AgentFolder::make(agent_folders_of_user(), own_cookie());
  if (spec.hold_port) {
    port_ = hold_port(spec.port);
    if (port_.port == 0) {
      const std::string wanted = spec.port == 0 ? "a port" : fmt::format("port {}", spec.port);
      return tell(LinkLost{
          fmt::format("cannot bind {} for MASTER_PORT: {}", wanted, std::strerror(port_.problem))});
    }
    door_.open(port_, spec.door_question, spec.door_answer);
  }
  if (spec.mpi.has_pmix()) return start_pmix(spec);
  tell(PortHeld{port_.port});
}

/// The node is ready when the server is, see serve_pmix().
void AgentLoop::start_pmix(const Spec& spec) {
  if (folder_.path().empty() && spec.mpi.wire == MpiWire::any) return tell(PortHeld{port_.port});
  if (folder_.path().empty())
    return tell(
        LinkLost{"a PMIx server needs a private folder for its files: set XDG_RUNTIME_DIR "
                 "or TMPDIR to a folder that only this user can write"});
  Spec for_server = spec;
  for (const RankBinding& binding : bindings_of(spec))
    for_server.mpi.cpusets.push_back(rank_ranges(binding.processors));
  pmix_.start(for_server, fmt::format("{}/pmix-{}", folder_.path(), envelope_.epoch), Clock::now());
}

void AgentLoop::perform(const DialMaster& action) {
  if (!action.probe.addresses.empty()) return probe_.start(action.probe, Clock::now());
  door_.close();
  probe_.stop();
  channel_.send_control(envelope_, Probed{action.probe.search, {}});
}

void AgentLoop::perform(const KillLeftovers& action) {
  channel_.flush();
  const std::uint32_t killed = sweep_job(agent_folders_of_user(), action.job_cookie, action.lost);
  channel_.send_control(envelope_, Swept{killed});
}

void AgentLoop::perform(const StartRanks& action) {
  started_ = true;
  door_.close();
  probe_.stop();
  Spec spec = *state_.spec();
  const Cookie cookie = own_cookie();
  for (std::size_t i = 0; i < spec.ranks.size(); ++i) {
    RankSpec& rank = spec.ranks[i];
    if (i < pmix_env_.size())
      rank.env.insert(rank.env.end(), pmix_env_[i].env.begin(), pmix_env_[i].env.end());
    rank.env.emplace_back(kCookieVariable, cookie.text());
    if (spec.mpi.has_pmi()) rank.env.emplace_back("PMI_FD", std::to_string(kPmiFd));
    if (spec.programs.at(static_cast<std::size_t>(rank.program)).rank_channel)
      rank.env.emplace_back(contract::kRankChannel,
                            std::to_string(kRankChannelFd + (spec.mpi.has_pmi() ? 1 : 0)));
    if (!folder_.path().empty() && !names_error_file(spec, rank))
      rank.env.emplace_back(kErrorFileVariable, folder_.error_file(envelope_.epoch, rank.rank));
  }
  autopsy_.begin();
  output_.begin(spec, envelope_);
  RankSetting setting{.cookie = cookie, .epoch = envelope_.epoch, .suspended = action.suspended};
  if (!namespace_.entered()) {
    setting.agent = cookie.agent;
    setting.guard = guard_.process();
    // A cgroup could not be removed while processes that may stay live in it.
    if (!spec.leave) setting.cgroups = CgroupPlace::find();
  }
  const std::vector<RankBinding> bindings = bindings_of(spec);
  for (std::size_t i = 0; spec.tell_binding && i < bindings.size(); ++i)
    output_.say(fmt::format("rank {} runs on {}", spec.ranks[i].rank, binding_text(bindings[i])));
  ranks_.start(spec, action.env, setting, bindings);
  if (spec.mpi.has_pmi())
    pmi_ = PmiServer(spec, fmt::format("kvs_{}_{}", spec.job_cookie, envelope_.epoch),
                     ranks_.take_pmi_ends());
  channels_ = RankChannels(ranks_.take_channel_ends(), envelope_.epoch);
}

std::vector<RankBinding> AgentLoop::bindings_of(const Spec& spec) {
  std::vector<std::string> devices;
  for (const RankSpec& rank : spec.ranks) devices.push_back(rank.device);
  const NodeTopology topology =
      spec.bind == Bind::none ? NodeTopology{} : read_topology("", allowed_processors());
  return bind_ranks(spec.bind, topology, devices, spec.level);
}

void AgentLoop::perform(const SignalMains& action) {
  sent_kill_ = sent_kill_ || action.signo == SIGKILL;
  ranks_.order({ShimOrder::Kind::signal, action.signo}, action.rank);
}

void AgentLoop::perform(Act action) {
  switch (action) {
    case Act::hold_port:
      return hold_master_port();
    case Act::kill_ranks:
      sent_kill_ = true;
      return ranks_.order({ShimOrder::Kind::kill, 0});
    case Act::suspend_ranks:
      return ranks_.order({ShimOrder::Kind::suspend, 0});
    case Act::resume_ranks:
      return ranks_.order({ShimOrder::Kind::resume, 0});
    case Act::kill_strays:
      kill_strays_ = true;
      if (!bad_since_) bad_since_ = Clock::now();
      return;
    case Act::clear_up:
      started_ = true;  // is_empty() does the rest
      return;
    case Act::forget_ranks:
      door_.close();
      probe_.stop();
      ranks_ = RankSet{};
      pmi_ = PmiServer{};
      channels_ = RankChannels{};
      pmix_env_.clear();
      started_ = told_empty_ = killing_everything_ = kill_strays_ = sent_kill_ = false;
      return;
    case Act::kill_everything:
      return kill_everything();
  }
}

void AgentLoop::kill_everything() {
  channel_.flush();  // Killing may take long.
  pmix_.finish(now_);
  killing_everything_ = sent_kill_ = true;
  for (const auto& rank : ranks_) kill_cgroup(rank->cgroup.folder());
  namespace_.kill();
  kill_children_until_none(Deadline::after(kKillLimit),
                           [this](pid_t pid, int wait_status) { on_reaped(pid, wait_status); });
}

void AgentLoop::look_at_neighbors() {
  if (!looks() || now_ < next_look_) return;
  next_look_ = now_ + StopWatch::kPeriod;
  if (guard_.stopped_twice()) tell(LinkLost{"the guard was stopped"});
  if (namespace_.init_stopped())
    tell(LinkLost{"the first process of the ranks' PID namespace was stopped"});
  for (const auto& rank : ranks_) {
    if (rank->shim_stopped())
      tell(LinkLost{fmt::format("the shim of rank {} was stopped", rank->rank)});
  }
  // A launcher that suspends its job stops itself.
  if (root_.stopped_twice() && !state_.suspended()) lose_root("the launcher was stopped");
  if (root_.process().is_traced()) tell(RootTraced{});
}

void AgentLoop::drain() {
  Deadline deadline = bad_since_ ? Deadline::after(kBadDrainLimit) : Deadline::after(kDrainLimit);
  channel_.flush();
  while (channel_.anything_waiting() && !deadline.passed()) {
    pollfd ends[] = {{channel_.out(), POLLOUT, 0}, {channel_open_ ? channel_.in() : -1, POLLIN, 0}};
    ::poll(ends, 2, static_cast<int>(deadline.remaining().count()));
    if (ends[1].revents != 0) {
      channel_open_ = channel_.read_some();
      if (channel_open_ && !bad_since_) deadline = Deadline::after(kDrainLimit);
      while (channel_.next()) {
      }
    }
    channel_.flush();
  }
}

/// Kills a stopped guard: nobody else would. After a loss the guard may be stopped a moment after
/// this process, so the agent waits for kHitSpan.
void AgentLoop::leave_no_stopped_guard() {
  const Clock::time_point until = bad_since_ ? *bad_since_ + kHitSpan : Clock::now();
  while (!link_.orphaned()) {
    const ProcessRef::State state = guard_.process().state();
    if (state != ProcessRef::State::stopped && Clock::now() >= until) return;
    if (guard_.stopped_twice()) return guard_.process().kill();
    ::usleep(std::chrono::microseconds(StopWatch::kPeriod).count());
  }
}

}  // namespace ds::launcher
