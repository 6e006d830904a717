// Job whose nodes dial in: waits for the nodes, places the ranks, runs the job, reports the end.
#include "launcher/commands/start/joined_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <csignal>
#include <map>
#include <set>
#include <utility>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "engine/base/exit_status.h"
#include "launcher/agent/node_facts.h"
#include "launcher/agent/process_settings.h"
#include "launcher/commands/pods/entrypoint.h"
#include "launcher/commands/pods/pod_words.h"
#include "launcher/commands/start/check_config.h"
#include "launcher/commands/start/find_hosts.h"
#include "launcher/commands/start/gather.h"
#include "launcher/commands/start/guests.h"
#include "launcher/commands/start/job_request.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/hosts/placement.h"
#include "launcher/job/verdict.h"
#include "launcher/transport/local_transport.h"
#include "launcher/transport/ssh/ssh_files.h"

namespace ds::launcher {

namespace {

constexpr std::chrono::seconds kEndsWithin{2};
constexpr std::chrono::milliseconds kLook{20};
/// Time in which the agents of joined nodes greet. Other places of --nodes MIN:MAX join later.
constexpr std::chrono::seconds kBeginWithin{10};
/// Nodes that are told to end within this time leave together. When all pods of a job are deleted,
/// the root is told by then too.
constexpr std::chrono::seconds kLeaversTogether{2};

/// One job with joining nodes, from listening to the final report.
class JoinedJob {
 public:
  JoinedJob(const Options& options, const JoinedJobSetup& setup, const Background* background)
      : options_(options),
        setup_(setup),
        background_(background),
        io_(1),
        local_(make_local_transport(io_)),
        server_(io_, server_options(), server_events()),
        guests_(server_, names_of_places(),
                [this](const JoinedNode& node) { return slots_of(node); }),
        signals_(io_, SIGHUP, SIGINT, SIGTERM) {
    signals_.async_wait([this](const asio::error_code& error, int signo) {
      if (!error) told_ = signo;
    });
  }
  ~JoinedJob() {
    if (setup_.on_end) setup_.on_end();
  }
  JoinedJob(const JoinedJob&) = delete;
  JoinedJob& operator=(const JoinedJob&) = delete;

  int run(JobParts parts) {
    if (setup_.on_listening) setup_.on_listening(server_, io_);
    const Gathered gathered = gather(io_, server_, gather_request());
    if (gathered.code) {
      say(gathered.reason);
      return finish(*gathered.code, gathered.reason);
    }
    if (setup_.on_gathered) setup_.on_gathered();
    try {
      return run_placed(std::move(parts));
    } catch (const Error& error) {
      finish(contract::exit_code(error.kind()), error.what());
      throw;
    } catch (...) {  // the nodes must not wait for a failed root
      finish(contract::kExitBug, "the root failed; see its output");
      throw;
    }
  }

 private:
  void say(const std::string& text) const {
    if (background_ == nullptr) return say_line(text);
    background_->on_say("dslaunch: " + printable(text));
  }

  JoinServerOptions server_options() const {
    JoinServerOptions server{.key = setup_.key,
                             .job = setup_.job,
                             .places = {},
                             .own_place = setup_.own_place.value_or(""),
                             .open = setup_.open.has_value(),
                             .port = setup_.port,
                             .bind_address = setup_.bind_address,
                             .silence = options_.failure.node_timeout};
    for (const Host& place : setup_.places) server.places.push_back(place.name);
    return server;
  }

  JoinServerEvents server_events() {
    return {
        .on_joined = [this](const JoinedNode& node) { guests_.joined(node); },
        .on_left = [this](const std::string& place,
                          const std::string& why) { say(fmt::format("{} left: {}", place, why)); },
        .on_leaving = [this](const std::string& place, int signo) { leave(place, signo); },
        .on_say = [this](const std::string& text) { say(text); }};
  }

  /// When one node asks to stop, the whole job stops, unless the number of its nodes may change.
  /// Later requests of the same kind change nothing.
  void leave(const std::string& place, int signo) {
    const bool together = setup_.decide_after.count() > 0 && !is_from_elsewhere(place);
    if (options_.failure.nodes && !together) return leave_alone(place, signo);
    if (!stop_requests_.counts(place)) return;
    if (setup_.decide_after.count() == 0) return decide(place, signo);
    stop_delay_.expires_after(setup_.decide_after);
    stop_delay_.async_wait([this, place, signo](const asio::error_code& error) {
      if (!error) decide(place, signo);
    });
  }

  /// Returns whether the job has not started this node itself: a guest, or a node that fills the
  /// place of a lost one from another allocation.
  [[nodiscard]] bool is_from_elsewhere(const std::string& place) const {
    const JoinedNode* const node = server_.node(place);
    return guests_.is_guest(place) || (node != nullptr && node->hello.job != setup_.job);
  }

  void decide(const std::string& place, int signo) {
    say(fmt::format("{} was told to stop ({}); stopping the job", place, signal_name(signo)));
    const int own = signo == SIGHUP || signo == SIGINT ? signo : SIGTERM;
    if (orders_) return orders_->signal(own);
    told_ = own;
  }

  void say_told(const std::vector<std::string>& places, int signo) const {
    say(fmt::format("{} ({})", names_with(places, "was told to end", "were told to end"),
                    signal_name(signo)));
  }

  void leave_alone(const std::string& place, int signo) {
    const bool later = !leavers_.empty();  // the line comes with those of the other leavers
    if (later) more_told_[signo].push_back(place);
    if (!later) say_told({place}, signo);
    leaves_with_[place] = contract::kExitSignalBase + signo;
    if (!orders_) return let_go(place);  // the ranks are not placed yet
    // The ranks of a guest in Slurm have got the same signal and will end.
    if (setup_.decide_after.count() > 0) return orders_->leave({place});
    leavers_.push_back(place);
    if (later) return;
    stop_delay_.expires_after(kLeaversTogether);
    stop_delay_.async_wait([this](const asio::error_code& error) {
      for (const auto& [told, places] : std::exchange(more_told_, {})) say_told(places, told);
      const auto leavers = std::exchange(leavers_, {});
      if (!error && orders_) orders_->leave(leavers);
    });
  }

  void let_go(const std::string& place) {
    if (const auto leaver = leaves_with_.extract(place)) server_.let_go(place, leaver.mapped());
  }

  [[nodiscard]] bool is_own(const std::string& place) const { return setup_.own_place == place; }

  [[nodiscard]] std::set<std::string> names_of_places() const {
    std::set<std::string> names;
    for (const Host& place : setup_.places) names.insert(place.name);
    return names;
  }

  GatherRequest gather_request() {
    GatherRequest request{.places = {},
                          .wait = setup_.wait,
                          .here = setup_.own_place ? 1U : 0U,
                          .dial_of = setup_.dial_of,
                          .port = setup_.port,
                          .stage_of = setup_.stage_of,
                          .given_up = setup_.given_up,
                          .signal = [this] { return told_; },
                          .say = [this](const std::string& text) { say(text); }};
    for (const Host& place : setup_.places)
      if (!is_own(place.name)) request.places.push_back(place.name);
    if (setup_.open) {
      request.guests = [this] { return guests_.hosts().size(); };
      request.last_call = setup_.open->last_call;
    }
    request.is_out = setup_.is_out;
    if (const auto& nodes = options_.failure.nodes) {
      const auto others = [&](int all) {
        return static_cast<std::size_t>(std::max(all, 1)) - std::min<std::size_t>(request.here, 1);
      };
      request.least = others(nodes->least);
      if (nodes->most > 0) request.most = others(nodes->most);
    }
    return request;
  }

  /// Returns the slots of a host where the options do not give them.
  [[nodiscard]] int slots_by_facts(const Hello& facts) const {
    const RankMap& map = options_.hosts.map;
    if (map.per_part > 0) return slots_by_part(map, facts);
    return facts.devices.empty() ? 1 : auto_slots(facts);
  }

  /// Returns the slots of a guest.
  [[nodiscard]] int slots_of(const JoinedNode& guest) const {
    const bool given = setup_.open->slots != kAutoSlots && options_.hosts.map.per_part == 0;
    return given ? setup_.open->slots : slots_by_facts(guest.hello.node);
  }

  /// Returns the hosts. Unknown slots are taken from what the nodes reported.
  std::vector<Host> hosts_with_slots() {
    std::vector<Host> hosts = setup_.places;
    // A node that has not joined yet (--nodes MIN:MAX) counts as the first one that has.
    const auto joined = std::ranges::find_if(
        hosts, [this](const Host& host) { return server_.node(host.name) != nullptr; });
    const Hello usual =
        joined == hosts.end() ? describe_node() : server_.node(joined->name)->hello.node;
    for (Host& host : hosts) {
      if (host.slots != kAutoSlots && options_.hosts.map.per_part == 0) continue;
      const JoinedNode* const node = server_.node(host.name);
      const Hello facts = is_own(host.name) ? describe_node()
                          : node != nullptr ? node->hello.node
                                            : usual;
      host.slots = slots_by_facts(facts);
    }
    for (Host& guest : guests_.hosts()) hosts.push_back(std::move(guest));
    return hosts;
  }

  /// Returns an epoch above all that the nodes have seen from an earlier root.
  std::uint64_t first_epoch(const std::vector<Host>& hosts) {
    std::uint64_t epoch = setup_.first_epoch;
    for (const Host& host : hosts)
      if (const JoinedNode* node = server_.node(host.name))
        epoch = std::max<std::uint64_t>(epoch, node->hello.next_epoch);
    return epoch;
  }

  /// Handles what has come, and returns whether a signal is part of it.
  bool poll_told() {
    io_.restart();
    io_.poll();
    return told_.has_value();
  }

  int finish_told() {
    return finish(contract::kExitSignalBase + *told_, fmt::format("stopped by signal {}", *told_));
  }

  int run_placed(JobParts parts) {
    const std::vector<Host> hosts = hosts_with_slots();
    PlacedJob placed = place_job(options_, hosts, first_epoch(hosts));
    if (options_.train) {
      // The joined nodes need a root that is not silent meanwhile.
      const ConfigCheck check = check_config(parts.programs.front(), placed,
                                             is_own(placed.placement.nodes.front().host.name),
                                             [this] { return !poll_told(); });
      if (told_) return finish_told();
      if (check.code != 0) return finish(check.code, check.problem);
    }
    std::vector<NodeRoute> routes;
    for (const Host& host : hosts_of(placed)) {
      const bool own = is_own(host.name);
      routes.push_back({own ? local_.get() : &server_, own});
    }
    JobRequest request = job_request(options_, std::move(placed), std::move(parts), background_);
    request.routes = std::move(routes);
    request.policy.start_timeout = setup_.wait;
    lengthen_max_wait(request.policy, options_.failure);
    if (request.policy.elastic) {
      request.policy.elastic->begin_within = kBeginWithin;
      request.policy.elastic->known =
          static_cast<int>(std::ranges::count_if(hosts, [this](const Host& host) {
            return is_own(host.name) || server_.node(host.name) != nullptr;
          }));
    }
    request.open = setup_.open.has_value();
    request.on_begin = [this](const JobOrders& orders) {
      orders_ = orders;
      asio::post(io_, [this] { admit_guests(); });  // once the job has begun
    };
    request.let_go = [this](const std::string& place) { let_go(place); };
    request.heeds_signal = [this] { return stop_requests_.counts({}); };
    std::string verdict;
    request.on_verdict = [&verdict](const std::string& json) { verdict = json; };
    if (poll_told()) return finish_told();
    const int code = run_job(io_, std::move(request));
    return finish(code, verdict);
  }

  void admit_guests() {
    if (!orders_ || !setup_.open) return;
    guests_.admit([this](const Host& host) { return orders_->add(host, {&server_, false}); });
  }

  int finish(int code, const std::string& verdict) {
    guests_.admit(nullptr);
    orders_.reset();
    const std::string reason = termination_report(verdict, code).reason;
    if (code != 0 && !reason.empty()) server_.tell("the job has ended: " + reason);
    const std::string report = setup_.report ? setup_.report(verdict, code) : std::string();
    io_.restart();
    bool done = false;
    server_.finish({code, report}, [&done] { done = true; });
    while (!done) io_.run_one();
    const Clock::time_point until = Clock::now() + kEndsWithin;
    const bool all_hear = code != contract::kExitUnreachable;  // a lost node does not end its step
    while (all_hear && setup_.still_ending && setup_.still_ending() && Clock::now() < until)
      io_.run_one_for(kLook);
    return code;
  }

  const Options& options_;
  const JoinedJobSetup& setup_;
  const Background* background_;
  asio::io_context io_;
  std::unique_ptr<Transport> local_;
  StopRequests stop_requests_;
  asio::steady_timer stop_delay_{io_};
  std::map<std::string, int> leaves_with_;  // exit codes of places that were told to end
  std::vector<std::string> leavers_;        // those of which the job has not heard yet
  std::map<int, std::vector<std::string>> more_told_;  // of them those without a line, by signal
  std::optional<JobOrders> orders_;         // set while the job runs
  JoinServer server_;
  Guests guests_;
  // Lives as long as the job: a signal between two steps must not end the root without a report.
  asio::signal_set signals_;
  std::optional<int> told_;  // signal that came before the job began
};

}  // namespace

JoinKey key_of_job(const PodOptions& pods) {
  const FoundJoinKey found = find_join_key(pods.key_file, local_user().home, own_variable);
  hide_join_token();
  return found.key;
}

int run_joined_job(const Options& options, const JoinedJobSetup& setup, JobParts parts) {
  return run_at_terminal(options, [&](const Background* background) {
    raise_open_files();  // one descriptor per node
    return JoinedJob(options, setup, background).run(std::move(parts));
  });
}

}  // namespace ds::launcher
