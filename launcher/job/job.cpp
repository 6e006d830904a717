// Turns messages of agents, timers and signals into events for JobState. Also follows a
// training job by the news of rank 0.
#include "launcher/job/job.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "engine/base/error.h"
#include "launcher/job/host_check.h"
#include "launcher/job/job_facts.h"
#include "launcher/job/job_loop.h"
#include "launcher/job/spec.h"
#include "launcher/job/verdict.h"
#include "launcher/job/verdict_file.h"

namespace ds::launcher {
namespace {

// Error files of ranks that failed at about the same time; one of them was the first failure.
constexpr std::size_t kErrorFilesKept = 64;

/// Requests a search for MASTER_ADDR only if some of several nodes are not on this machine. Nodes
/// that are added later may be elsewhere, so jobs that change decide for each placement.
JobPolicy policy_of(const JobRequest& request) {
  JobPolicy policy = request.policy;
  policy.trains = request.trains;
  const bool elsewhere =
      request.open || std::ranges::count(request.routes, false, &NodeRoute::local) > 0;
  const bool several =
      policy.elastic ? policy.elastic->nodes.most > 1 : request.placement.nodes.size() > 1;
  const bool may_be = elsewhere || (policy.elastic && request.route_to);
  policy.find_master = may_be && several && request.master.address.empty();
  return policy;
}

/// Returns whether rank 0 of a training job runs here; another part of the job may run it.
bool is_followed(const JobRequest& request) {
  return request.trains && request.placement.shown_rank(0) == 0;
}

}  // namespace

Job::Job(asio::io_context& io, JobRequest request)
    : io_(io),
      request_(std::move(request)),
      identity_(new_identity(request_.job_id)),
      state_(request_.placement, policy_of(request_), request_.spares),
      links_(io, {.on_heard = [this](int agent) { feed(AgentHeard{agent}); },
                  .on_message = [this](int agent, Message& message) { on_message(agent, message); },
                  .on_lost = [this](const AgentLost& lost) { feed(lost); },
                  .on_continued =
                      [this] {
                        mpi_.resume(Clock::now());
                        feed(Continued{});
                      },
                  .stop_self = [this] { stop_self(); }}),
      timer_(io,
             [this] {
               if (output_.still_busy()) feed(OutputHeld{});
               feed(Tick{});
               look_at_fences();
             }),
      hostfile_timer_(io, [this] { look_at_hostfile(); }),
      hostfile_(request_.hostfile),
      signals_(io),
      redactor_(request_.secrets),
      output_(io,
              {.placement = request_.widest ? *request_.widest : request_.placement,
               .policy = request_.logs,
               .job_id = job_id_text(identity_.id),
               .follow_first = is_followed(request_),
               .out_fd = request_.out_fd,
               .err_fd = request_.err_fd},
              {.on_credit = [this](int agent, const Credit& credit) { links_.send(agent, credit); },
               .on_closed = [this](std::string reason) { feed(OutputClosed{std::move(reason)}); },
               .on_written = [this] { all_written(); }}),
      input_(
          io, request_.logs.input, request_.in_fd,
          [this](int agent, const Stdin& input) { links_.send(agent, input); },
          [this](int error) { feed(InputFailed{std::generic_category().message(error)}); }),
      master_(io,
              {.send = [this](int agent, const Probe& probe) { links_.send(agent, probe); },
               .on_found = [this] { feed(MasterFound{}); },
               .on_missing = [this](MasterMissing missing) { feed(std::move(missing)); }}),
      mpi_(request_.policy.mpi_timeout),
      control_(io, describe_job(request_, identity_), request_.control_folders,
               {.phase = [this] { return state_.phase_name(); },
                .ranks_left = [this] { return state_.ranks_left(); },
                .set_grace = [this](auto grace) { state_.set_grace(grace); },
                .signal =
                    [this](int signo) {
                      take_signal({signo, true});
                    },
                .forward = [this](int signo) { send_to_busy(Signal{signo}); },
                .prefix =
                    [this](const OutputPiece& piece) {
                      return output_.plain_prefix(piece.rank, piece.stream, piece.time);
                    },
                .shows = [this](int rank, int stream) { return output_.shows(rank, stream); },
                .watch = [this](int rank, bool on) { return watch(rank, on); },
                .checkpoint = [this] { return ask_for_checkpoint(); },
                .scale = [this](const ScaleRequest& wanted) { return scale(wanted); },
                .training = [this](JobInfo& info) { describe_training(info); },
                .most_ranks = request_.widest ? request_.widest->world_size() : 0}) {
  identity_.grace = request_.policy.grace;
  identity_.run_id = request_.run_id;
  identity_.live_columns = output_.live_columns();
  links_.set_job(identity_.id);
  if (is_followed(request_)) training_.emplace(request_.programs.front().working_directory);
  if (!control_.problem().empty())
    perform(Say{"this job cannot be seen by dslaunch ps: " + control_.problem()});
}

int Job::run() {
  // A signal that nohup has set to be ignored stays ignored, except INT: a script ignores INT for
  // processes that it starts with `&`. A terminal does not send INT to them, so it is deliberate.
  for (const int signo : {SIGHUP, SIGINT, SIGTERM, SIGTSTP})
    if (signo == SIGINT || !is_ignored(signo)) signals_.add(signo);
  for (const int signo : request_.policy.forwarded_signals) signals_.add(signo);
  if (request_.logs.pty) signals_.add(SIGWINCH);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTTOU, SIG_IGN);  // writing must not stop a job started with `&`
  if (!request_.verdict_file.empty()) prepare_verdict_file(request_.verdict_file);
  wait_for_signal();
  if (request_.on_begin)
    request_.on_begin(
        {.signal = [this](int signo) { take_signal({signo}); },
         .leave = [this](const std::vector<std::string>& names) { let_leave(names); },
         .add = [this](const Host& host, const NodeRoute& route) { return add(host, route); }});
  feed(Start{});
  if (request_.read_hostfile) look_at_hostfile();
  io_.run();
  DS_ASSERT(code_);
  return *code_;
}

void Job::feed(const Event& event) {
  for (const Action& action : state_.on(event, Clock::now()))
    std::visit([this](const auto& known) { perform(known); }, action);
  // After a signal the job does not wait for a reader that does not read.
  if (state_.cause().kind == Cause::Kind::signal) output_.leave_slow_reader();
  arm_timer();
}

void Job::wait_for_signal() {
  signals_.async_wait(life_.guard([this](const asio::error_code& error, int signo) {
    if (error) return;
    wait_for_signal();
    if (signo == SIGWINCH) return send_window();
    const bool ends = signo == SIGHUP || signo == SIGINT || signo == SIGTERM;
    if (ends && request_.heeds_signal && !request_.heeds_signal()) return;
    take_signal({signo});
  }));
}

/// Handles a signal to the launcher, also once only unread output is left: that is then dropped.
void Job::take_signal(const SignalReceived& signal) {
  const bool only_writes = state_.only_writes();
  if (signal.signo == SIGTSTP) stop_asked_ = signal.asked;
  if (only_writes && signal.signo == SIGTSTP) return asio::post(io_, [this] { stop_self(); });
  const bool failed = code_.has_value();
  feed(signal);
  const bool ends = signal.signo == SIGHUP || signal.signo == SIGINT || signal.signo == SIGTERM;
  if (!only_writes || !ends) return;
  if (written_) return io_.stop();  // only clients of the private socket are left
  if (failed) perform(Say{std::string(kOutputDropped)});
  output_.leave_slow_reader();
  asio::post(io_, life_.guard([this] { all_written(); }));
}

void Job::let_leave(const std::vector<std::string>& names) {
  const std::vector<Host>& hosts = state_.agents().hosts();
  HostsEnd event;
  for (int host = 0; host < std::ssize(hosts); ++host)
    if (std::ranges::count(names, hosts[static_cast<std::size_t>(host)].name) > 0)
      event.hosts.push_back(host);
  feed(event);
}

void Job::on_message(int agent, Message& message) {
  if (auto* output = std::get_if<Output>(&message)) return on_output(agent, *output);
  if (take_mpi(agent, message)) return;
  if (auto* news = std::get_if<RankNews>(&message)) return take_news(agent, *news);
  if (const auto* taken = std::get_if<Credit>(&message)) return input_.taken(agent, taken->bytes);
  if (const auto* beat = std::get_if<Heartbeat>(&message))
    return output_.clock(agent).heard(*beat, Clock::now());
  const std::string& host = state_.agents().host_of(agent).name;
  if (auto* hello = std::get_if<Hello>(&message)) {
    std::string problem = problem_of(agent, *hello);
    if (!problem.empty()) {
      links_.silence(agent);
      return feed(AgentLost{agent, std::move(problem), stage::kStart});
    }
    output_.clock(agent).greeted(hello->clock, Clock::now());
    this->hello(agent) = std::move(*hello);
    feed(AgentGreeted{agent});
  } else if (const auto* ready = std::get_if<Ready>(&message)) {
    feed(AgentReady{agent, ready->port});
  } else if (const auto* reached = std::get_if<Probed>(&message)) {
    master_.take(agent, *reached);
  } else if (const auto* started = std::get_if<Started>(&message)) {
    if (is_rank_of(state_.placement(), state_.agents().node_of(agent), started->rank))
      on_rank_started(*started);
  } else if (const auto* exited = std::get_if<Exited>(&message)) {
    on_rank_exited(agent, *exited);
  } else if (auto* file = std::get_if<ErrorFile>(&message)) {
    if (error_files_.size() < kErrorFilesKept)
      error_files_[file->rank] = redactor_.clean(file->text);
  } else if (const auto* problem = std::get_if<Problem>(&message)) {
    links_.silence(agent);
    feed(AgentLost{agent, host + ": " + problem->text, stage::kStart});
  } else if (const auto* swept = std::get_if<Swept>(&message)) {
    feed(AgentSwept{agent, swept->killed});
  } else if (const auto* checked = std::get_if<Checked>(&message)) {
    feed(HostChecked{agent, host_problem(*checked, facts_)});
  } else if (std::holds_alternative<Cleared>(message)) {
    mpi_node_ended(agent);
    feed(AgentCleared{agent});
  } else if (std::holds_alternative<Bye>(message)) {
    mpi_node_ended(agent);
    feed(AgentDone{agent});
  }
}

/// Returns why the agent cannot take part; empty if it can.
std::string Job::problem_of(int agent, const Hello& hello) const {
  const Host& host = state_.agents().host_of(agent);
  if (hello.version != kWireVersion) return version_reason(host.name, hello);
  std::string problem = device_problem(host, request_.own_devices, hello);
  if (problem.empty())
    problem = bind_problem(host.name, request_.bind, ranks_of(agent), hello);
  if (!problem.empty() || !request_.master.iface) return problem;
  return interface_problem(host.name, *request_.master.iface, hello.addresses);
}

/// Returns how many ranks the agent's host has in this epoch, or will have if it joins.
std::size_t Job::ranks_of(int agent) const {
  const int node = state_.agents().node_of(agent);
  if (node >= 0) return state_.placement().nodes[static_cast<std::size_t>(node)].ranks.size();
  if (!state_.elastic()) return 0;  // a spare: known when it fills a node
  const Placement alone =
      place_groups({state_.agents().host_of(agent)}, request_.policy.elastic->placing, 0);
  return alone.ranks.size();
}

void Job::on_output(int agent, Output& output) {
  const std::size_t came = output.bytes.size();
  if (redactor_.active()) redact(output);
  control_.output(output, output_.written_at(agent, output.time));
  output_.take(agent, output, came);
}

void Job::redact(Output& output) {
  const std::string_view text = text_of(output);
  const bool whole = output.rank < 0 || (output.flags & Output::kTail) != 0;
  const bool last = (output.flags & Output::kLast) != 0;
  redacted_ = whole ? redactor_.clean(text)
                    : std::string(redactor_.pass(output.rank, output.stream, text, last));
  output.bytes = std::as_bytes(std::span(redacted_));
}

void Job::on_rank_started(const Started& started) {
  feed(RankStarted{started.rank, started.pid});
  if (state_.ranks_started() < state_.placement().world_size()) return;
  show_ranks();
  if (const auto on_running = std::exchange(request_.on_running, {})) on_running();
}

ExitTime Job::exit_time(int agent, std::uint64_t there) {
  ExitTime time{.there = there};
  if (const auto reading = output_.clock(agent).reading(there); reading && there != 0) {
    time.here = reading->at;
    time.error = reading->error;
  }
  return time;
}

void Job::on_rank_exited(int agent, const Exited& exited) {
  if (!is_rank_of(state_.placement(), state_.agents().node_of(agent), exited.rank)) return;
  const RankEnd end = rank_end(exited);
  feed(RankExited{exited.rank, end, exit_time(agent, exited.time)});
  if (end.status.success()) mpi_.ended(exited.rank);
  pass_fences();
}

int run_job(asio::io_context& io, JobRequest request) { return Job(io, std::move(request)).run(); }

void Job::take_news(int agent, RankNews& news) {
  if (!is_rank_of(state_.placement(), state_.agents().node_of(agent), news.rank)) return;
  for (const RankNews::Phase& phase : news.phases) {
    const Clock::time_point at = exit_time(agent, phase.time).here.value_or(Clock::now());
    if (phases_.take(news.rank, phase.name, at))
      feed(PhaseReached{phase.name, *phases_.reached(phase.name)});
  }
  if (news.rank == 0 && !news.facts.empty()) {
    facts_ = std::move(news.facts);
    feed(states_told(facts_));
  }
  if (!training_ || news.rank != 0) return;
  for (std::string& line : news.checkpoints) line = redactor_.clean(line);
  if (const auto outcome = training_->take(news)) control_.saved(*outcome);
}

void Job::order_save() {
  const int agent = state_.agents().agent_of(state_.placement().ranks.front().node_rank);
  // Ranks decide together, so one order suffices; orders to all could take effect at 2 steps.
  if (agent >= 0) links_.send(agent, OrderRank{.rank = 0, .order = OrderRank::Order::save});
}

std::string Job::ask_for_checkpoint() {
  if (!request_.trains) return "it runs a command, which alone knows how to save";
  if (!training_)
    return "its rank 0 is in another part of the job, with its own dslaunch: ask there";
  const std::string_view phase = state_.phase_name();
  if (phase == "stopping" || phase == "finished") return "it is stopping";
  if (const std::string hosts = state_.hosts_waited_for(); !hosts.empty())
    return training_->while_waiting(hosts, state_.saves_before_end());
  if (training_->ask()) order_save();
  return {};
}

}  // namespace ds::launcher
