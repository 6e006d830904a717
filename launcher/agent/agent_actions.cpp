// The agent does what its AgentState has decided.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "launcher/agent/agent_loop.h"
#include "launcher/agent/leftovers.h"

namespace ds::launcher {
namespace {

constexpr const char* kErrorFileVariable = "TORCHELASTIC_ERROR_FILE";

/// The user wants it somewhere else.
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
  // The last frame must not overtake what the ranks wrote.
  const bool is_last = std::holds_alternative<Bye>(action.message) ||
                       std::holds_alternative<Cleared>(action.message);
  if (std::holds_alternative<Heartbeat>(action.message)) {
    send_heartbeat();
  } else if (is_last) {
    channel_.send_last(envelope_, action.message);
  } else {
    channel_.send_control(envelope_, action.message);
  }
}

void AgentLoop::send_heartbeat() {
  const Clock::time_point now = Clock::now();
  Heartbeat beat{.sent = clock_value(now)};
  if (heard_beat_) {
    beat.heard = heard_beat_->sent;
    beat.held = clock_value(now) - clock_value(heard_beat_at_);
  }
  channel_.send_control(envelope_, beat);
}

void AgentLoop::enter_namespace(Isolate wish) {
  namespace_.enter(wish);
  if (wish != Isolate::required) return;
  // No set of stops shall leave anything either.
  link_.resist_stops();
  ::kill(guard_.process().pid(), kResistStops);
}

void AgentLoop::perform(const HoldPort&) {
  enter_namespace(state_.spec()->isolate);
  const Spec& spec = *state_.spec();
  if (spec.hold_port) {
    port_ = hold_port(spec.port);
    if (port_.port == 0) {
      const std::string wanted = spec.port == 0 ? "a port" : fmt::format("port {}", spec.port);
      return tell(LinkLost{fmt::format("{} for MASTER_PORT cannot be had: {}", wanted,
                                       std::strerror(port_.problem))});
    }
    door_.open(port_, spec.door_question, spec.door_answer);
  }
  tell(PortHeld{port_.port});
}

void AgentLoop::perform(const DialMaster& action) {
  if (!action.probe.addresses.empty()) return probe_.start(action.probe, Clock::now());
  door_.close();
  probe_.stop();
  channel_.send_control(envelope_, Probed{action.probe.search, {}});
}

void AgentLoop::perform(const KillLeftovers& action) {
  channel_.flush();
  const auto killed =
      kill_leftovers([&](const Cookie& cookie) { return cookie.job == action.job_cookie; },
                     Deadline::after(kSweepLimit));
  tell(LeftoversKilled{static_cast<std::uint32_t>(killed)});
}

void AgentLoop::perform(const StartRanks& action) {
  started_ = true;
  door_.close();
  probe_.stop();
  Spec spec = *state_.spec();
  const ProcessRef self = ProcessRef::of(::getpid());
  const Cookie cookie{spec.job_cookie, self.pid(), self.start_time()};
  if (folder_.path().empty()) folder_ = AgentFolder::make(agent_folders_of_user(), cookie);
  for (RankSpec& rank : spec.ranks) {
    rank.env.emplace_back(kCookieVariable, cookie.text());
    if (!folder_.path().empty() && !names_error_file(spec, rank))
      rank.env.emplace_back(kErrorFileVariable, folder_.error_file(envelope_.epoch, rank.rank));
  }
  autopsy_.begin();
  output_.begin(spec, envelope_);
  RankSetting setting{.cookie = cookie, .epoch = envelope_.epoch};
  if (!namespace_.entered()) {
    setting.agent = self.pid();
    setting.guard = guard_.process();
    setting.cgroups = CgroupPlace::find();
  }
  ranks_.start(spec, action.env, setting, bindings_of(spec));
}

std::vector<RankBinding> AgentLoop::bindings_of(const Spec& spec) {
  std::vector<std::string> devices;
  for (const RankSpec& rank : spec.ranks) devices.push_back(rank.device);
  const NodeTopology topology =
      spec.bind == Bind::none ? NodeTopology{} : read_topology("", allowed_processors());
  std::vector<RankBinding> bindings = bind_ranks(spec.bind, topology, devices);
  for (std::size_t i = 0; spec.tell_binding && i < bindings.size(); ++i)
    output_.say(fmt::format("rank {} runs on {}", spec.ranks[i].rank, binding_text(bindings[i])));
  return bindings;
}

void AgentLoop::perform(const SignalMains& action) {
  sent_kill_ = sent_kill_ || action.signo == SIGKILL;
  ranks_.order({ShimOrder::Kind::signal, action.signo}, action.rank);
}

void AgentLoop::perform(const KillRanks&) {
  sent_kill_ = true;
  ranks_.order({ShimOrder::Kind::kill, 0});
}

void AgentLoop::perform(const SuspendRanks&) { ranks_.order({ShimOrder::Kind::suspend, 0}); }

void AgentLoop::perform(const ResumeRanks&) { ranks_.order({ShimOrder::Kind::resume, 0}); }

void AgentLoop::perform(const KillStrays&) {
  kill_strays_ = true;
  if (!bad_since_) bad_since_ = Clock::now();
}

void AgentLoop::perform(const ForgetRanks&) {
  ranks_ = RankSet{};
  started_ = told_empty_ = killing_everything_ = kill_strays_ = sent_kill_ = false;
}

void AgentLoop::perform(const KillEverything&) {
  channel_.flush();  // this may take a while
  killing_everything_ = sent_kill_ = true;
  for (const auto& rank : ranks_) rank->cgroup().kill();
  namespace_.kill();
  kill_children_until_none(
      Deadline::after(kKillLimit),
      [](void* self, pid_t pid, int) { static_cast<AgentLoop*>(self)->on_reaped(pid); }, this);
}

void AgentLoop::perform(const Finish& action) { exit_code_ = action.code; }

}  // namespace ds::launcher
