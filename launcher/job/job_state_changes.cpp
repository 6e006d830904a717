// The part of JobState for jobs whose number of nodes may change that ends an epoch so that another
// one begins: losses, failures, pauses, hosts that join or leave.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/contract.h"
#include "engine/base/rank_channel.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/job/job_state.h"

namespace ds::launcher {

using namespace std::chrono_literals;

namespace {

std::chrono::microseconds whole_micros(Clock::duration span) {
  return std::chrono::duration_cast<std::chrono::microseconds>(span);
}

}  // namespace

/// Returns whether the ranks of a training have finished a step in this epoch. The next one goes on
/// from there, so it need not be delayed as after a start that fails.
bool JobState::has_stepped() const {
  return !verdict_.epochs.empty() &&
         std::ranges::count(verdict_.epochs.back().reached, kFirstStepPhase,
                            [](const auto& phase) -> std::string_view { return phase.first; }) > 0;
}

/// Ends the epoch: another one follows when no rank of this one is left.
/// `paused`: its ranks exit with 94 by themselves.
void JobState::begin_change(EpochRecord change, bool paused) {
  phase_ = Phase::clearing;
  failed_at_ = now_;
  change.nodes_before = node_count();
  change.ranks_before = placement_.world_size();
  if (cause_.kind == Cause::Kind::node && cause_.time.here)
    change.seen = whole_micros(now_ - *cause_.time.here);
  change_ = std::move(change);
  for (auto* at : {&invite_at_, &pause_by_, &skew_at_}) at->reset();
  const Clock::duration ran = now_ - begun_at_;
  if (ran >= kGoodRun || has_stepped()) quick_restarts_ = 0;
  const bool delayed = change_.counted || !begun_ || (paused && ran < kShortEpoch);
  const std::chrono::milliseconds delay =
      std::max(least_delay(cause_), delayed ? restart_delay(quick_restarts_++) : 0ms);
  restart_at_ = now_ + delay;
  act(Say{fmt::format("{}; {}{}", paused ? "the ranks have paused" : change_.why,
                      paused ? "beginning the next epoch" : "starting all ranks again",
                      delay > 0ms ? " in " + span_text(delay) : "")});
  if (!paused) return stop_for_change();
  stop_at_ = now_ + policy_.grace;  // all ranks are expected to exit with 94
  say_waiting_at_ = now_ + kSayWaitingAfter;
}

/// A rank has exited with 94: by itself, or because it was told to pause.
void JobState::ranks_paused() {
  EpochRecord change{.kind = EpochRecord::Kind::paused, .why = "the ranks have paused"};
  if (pause_by_) {
    change = std::exchange(planned_, {});
    change.seen = whole_micros(now_ - (*pause_by_ - pause_limit()));  // since the order
  }
  begin_change(std::move(change), /*paused=*/true);
}

/// Stops the ranks of the epoch that ends. Ranks of a training get KILL at once after a failure:
/// the agents hold their states, and a rank whose peer is gone cannot end its step.
void JobState::stop_for_change() {
  const bool planned =
      change_.kind == EpochRecord::Kind::joined || change_.kind == EpochRecord::Kind::left;
  if (!policy_.trains || planned || !begun_) return stop_ranks();
  const bool by_other = change_.kind == EpochRecord::Kind::failed &&
                        cause_.end.status.code() == contract::kExitUnreachable;
  if (by_other && !stop_at_)
    stop_at_ = now_ + kOwnErrorWithin;
  else
    kill_ranks();
}

/// Handles the loss of a node of an epoch that has its nodes.
void JobState::member_lost(int agent, int index, const std::string& reason) {
  const bool had_ranks = node(index).ranks_left > 0;
  const bool was_done = node(index).done;
  node_done(index);  // before the cause is set: its ranks are the cause
  has_left(roster_.host_number(agent));
  if (!was_done || may_restart()) dial_again(agent, reason);
  Cause cause{.kind = Cause::Kind::node,
              .node = index,
              .time = {.here = fleet_.last_heard(agent)},
              .reason = reason};
  if (phase_ == Phase::running && had_ranks) return mark_failure(std::move(cause));
  if (phase_ == Phase::starting) {  // its ranks have not begun
    searching_ = false;
    say_missing_at_.reset();
    cause_ = cause;
    if (!unbegun_since_) unbegun_since_ = now_;
    if (now_ - *unbegun_since_ >= policy_.elastic->max_wait) wanted_ = cause;
    return begin_change(
        {.kind = EpochRecord::Kind::lost, .why = printable(cause_text(placement_, cause))});
  }
  if (phase_ != Phase::clearing || was_done) return;
  // The loss explains the failure that was reported first.
  if (change_.kind != EpochRecord::Kind::lost) {
    change_.why += "; " + printable(cause_text(placement_, cause));
    change_.kind = EpochRecord::Kind::lost;
    change_.counted = false;
    act(Say{printable(cause_text(placement_, cause))});
  }
  if (std::exchange(stop_at_, std::nullopt)) stop_for_change();
}

/// Handles the end of an agent without ranks: dials its host again, ever less often.
void JobState::host_away(int agent, const std::string& reason, const std::string& stage) {
  const int host = roster_.host_number(agent);
  roster_.remove(agent);
  if (has_left(host)) return redial_after(0ms, agent);
  if (retired_.contains(host)) return set_sweep(agent, NodeLoss::Sweep::unreached, 0);
  const int tries = tries_[host]++;
  const bool first = verdict_.epochs.empty();
  if (first && tries == 0 && host < node_count()) absent_.push_back({host, reason, stage});
  if (!first && tries == 0 && loss_of(agent) == nullptr && !policy_.elastic->known)
    act(Say{printable(reason) + "; dialing it again until the job ends"});
  const std::chrono::seconds delay(1 << std::min(tries, 5));
  redial_after(std::min<std::chrono::milliseconds>(delay, kLongestRedial), agent);
}

/// Lets an agent without a node take part in the next epoch.
void JobState::agent_waits(int agent) {
  if (elastic() && retired_.contains(roster_.host_number(agent))) {
    roster_.remove(agent);
    return fleet_.dismiss(agent);
  }
  roster_.waits(agent);
  if (!elastic()) return;
  const int host = roster_.host_number(agent);
  tries_.erase(host);
  std::erase_if(absent_, [host](const BadNode& bad) { return bad.node == host; });
}

/// Ends the epoch for hosts that wait, if there is room for them and the policy says so.
void JobState::invite_joiners() {
  if (!begun_ || pause_by_ || pause_failed_ || roster_.waiting() == 0) return;
  if (node_count() >= most_nodes_ || cause_.kind != Cause::Kind::none) return;
  const Admit admit = policy_.elastic->admit;
  const bool at_once = admit == Admit::now || (admit == Admit::automatic && policy_.trains);
  std::vector<std::string> news;
  for (const int agent : roster_.waiting_agents())
    if (told_of_.insert(agent).second) news.push_back(host_name(agent));
  if (news.empty()) return;
  if (!at_once)
    act(Say{printable(fmt::format("{} {} ready and {} at the next restart", fold_names(news),
                                  news.size() == 1 ? "is" : "are",
                                  news.size() == 1 ? "joins" : "join"))});
  else
    invite_at_ = now_ + kJoinersTogether;
}

/// Ends the epoch by plan: a training ends its step, keeps it and exits with 94; other ranks are
/// stopped.
void JobState::end_epoch(EpochRecord::Kind kind, const std::string& why) {
  if (!policy_.trains || !begun_) return begin_change({.kind = kind, .why = printable(why)});
  if (pause_by_) return;  // one pause serves for all
  act(Say{printable(fmt::format("{}; pausing the training", why))});
  act(PauseRanks{});
  planned_ = {.kind = kind, .why = printable(why)};
  pause_by_ = now_ + pause_limit();
}

void JobState::look_at_members_clock() {
  const auto due = [this](std::optional<Clock::time_point>& at) {
    if (!at || now_ < *at) return false;
    at.reset();
    return true;
  };
  if (due(invite_at_) && phase_ == Phase::running) {
    std::vector<std::string> names;
    for (const int agent : roster_.waiting_agents()) names.push_back(host_name(agent));
    if (!names.empty())
      end_epoch(EpochRecord::Kind::joined,
                fmt::format("{} {} ready", fold_names(names), names.size() == 1 ? "is" : "are"));
  }
  if (due(pause_by_) && phase_ == Phase::running) {
    if (is_too_large())
      return begin_change(
          {.kind = EpochRecord::Kind::left,
           .why = fmt::format("the ranks have not paused within {}", span_text(pause_limit()))});
    pause_failed_ = true;
    act(Say{fmt::format("the ranks have not paused within {}; the epoch goes on as it is",
                        span_text(pause_limit()))});
  }
  if (due(stop_at_) && phase_ == Phase::clearing) {
    if (policy_.trains)
      kill_ranks();
    else
      stop_ranks();
  }
}

void JobState::record_start() {
  if (verdict_.epochs.empty()) return;
  EpochRecord& epoch = verdict_.epochs.back();
  epoch.started = whole_micros(now_ - (verdict_.epochs.size() == 1 ? started_at_ : failed_at_));
}

void JobState::handle(const PhaseReached& event) {
  if (phase_ != Phase::running || verdict_.epochs.empty()) return;
  verdict_.epochs.back().reached.emplace_back(
      event.name, whole_micros(event.at - (verdict_.epochs.size() == 1 ? started_at_ : failed_at_)));
}

void JobState::handle(const HostAdded& event) {
  if (phase_ >= Phase::stopping || !elastic()) return;
  const int host = roster_.add_host(event.host);
  const int agent = roster_.add_agent(host);
  const int added = fleet_.add(host);
  DS_ASSERT(agent == added);
  fleet_.dial(agent);
}

void JobState::handle(const HostRetired& event) {
  if (phase_ >= Phase::stopping || !elastic()) return;
  if (!retired_.insert(event.host).second) return;
  std::erase_if(redials_, [&](const auto& redial) {
    return roster_.host_number(redial.second) == event.host;
  });
  for (int agent = 0; agent < fleet_.size(); ++agent) {
    const Stage stage = fleet_.stage(agent);
    if (roster_.host_number(agent) != event.host || roster_.node_of(agent) >= 0) continue;
    if (stage == Stage::idle) fleet_.dismiss(agent);
    if (stage == Stage::opening || stage == Stage::sweeping) fleet_.close(agent);
    if (stage != Stage::gone) roster_.remove(agent);
  }
  leave_if_too_large(roster_.hosts()[static_cast<std::size_t>(event.host)].name + " shall leave");
}

void JobState::handle(const SizeWanted& event) {
  if (phase_ >= Phase::stopping || !elastic()) return;
  most_nodes_ = event.nodes;
  told_of_.clear();
  leave_if_too_large(fmt::format("the job shall have {}", count_of(event.nodes, "node")));
}

/// Ends the epoch if it has nodes that shall leave.
void JobState::leave_if_too_large(const std::string& why) {
  if (!placed_ || phase_ > Phase::running || !is_too_large()) return;
  searching_ = false;
  say_missing_at_.reset();
  end_epoch(EpochRecord::Kind::left, why);
}

/// Returns whether nodes of this epoch shall leave.
bool JobState::is_too_large() const {
  if (node_count() > most_nodes_) return true;
  for (const Node& place : placement_.nodes) {
    const int agent = roster_.agent_of(place.node_rank);
    if (agent >= 0 && retired_.contains(roster_.host_number(agent))) return true;
  }
  return false;
}

/// Dismisses agents whose hosts shall leave, once none of their ranks is left.
void JobState::drop_retired() {
  if (retired_.empty()) return;
  for (int node = 0; roster_.seated() > 0 && node < node_count(); ++node) {
    const int agent = roster_.agent_of(node);
    if (agent < 0 || !retired_.contains(roster_.host_number(agent))) continue;
    roster_.leave(agent);
    if (const int host = roster_.host_number(agent); returning_.contains(host)) act(LetGo{host});
    if (fleet_.stage(agent) == Stage::idle) fleet_.dismiss(agent);
  }
}

}  // namespace ds::launcher
