#include "launcher/mpi/pmi_node.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <iterator>

namespace ds::launcher {
namespace {

constexpr const char* kMappingKey = "PMI_process_mapping";
constexpr const char* kUniverseKey = "universeSize";
/// Memory of a pair besides its bytes: in the map about 120 bytes, among the new keys 80.
constexpr std::size_t kPairOverhead = 200;

constexpr const char* kUnfinished = "exited after MPI_Init without MPI_Finalize";

/// Returns whether a process, or a shell for a child of it, reports the end by SIGPIPE.
bool ended_by_pipe(int wait_status) {
  return (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGPIPE) ||
         (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 128 + SIGPIPE);
}

}  // namespace

PmiNode::PmiNode(const Spec& spec, const std::string& space)
    : alone_(spec.mpi.size == 1),
      tells_init_(spec.mpi.wire == MpiWire::any),
      has_all_(std::ssize(spec.ranks) == spec.mpi.size) {
  for (const RankSpec& rank : spec.ranks)
    ranks_.push_back(
        {.number = rank.rank,
         .state = PmiRank(
             {.space = space, .size = spec.mpi.size, .appnum = rank.program, .rank = rank.rank})});
  store(kUniverseKey, std::to_string(spec.mpi.size));
  if (!spec.mpi.process_mapping.empty()) store(kMappingKey, spec.mpi.process_mapping);
}

std::optional<std::size_t> PmiNode::index_of(std::int32_t rank) const {
  const auto known = std::ranges::find(ranks_, rank, &Rank::number);
  if (known == ranks_.end()) return std::nullopt;
  return static_cast<std::size_t>(known - ranks_.begin());
}

void PmiNode::take(std::size_t index, std::string_view bytes, Clock::time_point now) {
  PmiRank& rank = ranks_[index].state;
  const bool was_ready = rank.is_ready();
  rank.feed(bytes);
  while (std::optional<PmiStep> step = rank.next()) perform(index, std::move(*step), now);
  if (tells_init_ && !was_ready && rank.is_ready())
    messages_.emplace_back(MpiInit{ranks_[index].number, MpiWire::pmi1});
  look_for_hopeless_waits(now);
}

void PmiNode::perform(std::size_t index, PmiStep step, Clock::time_point now) {
  if (auto* reply = std::get_if<PmiReply>(&step)) {
    answer(index, std::move(reply->text));
  } else if (auto* pair = std::get_if<PmiPut>(&step)) {
    put(index, std::move(*pair));
  } else if (const auto* wanted = std::get_if<PmiGet>(&step)) {
    get(index, *wanted);
  } else if (auto* name = std::get_if<PmiName>(&step)) {
    messages_.emplace_back(
        NameAsk{.rank = ranks_[index].number,
                .kind = name->kind,
                .names = {{"pmi " + name->name, std::move(name->port)}}});
  } else if (std::holds_alternative<PmiJoin>(step)) {
    join(now);
  } else if (auto* leave = std::get_if<PmiLeave>(&step)) {
    answer(index, std::move(leave->text));
  } else if (auto* refused = std::get_if<PmiRefusal>(&step)) {
    lines_.push_back(fmt::format("rank {}: {} is not supported by dslaunch", ranks_[index].number,
                                 refused->what));
    answer(index, std::move(refused->text));
  } else if (auto* failure = std::get_if<PmiFailure>(&step)) {
    if (!failure->is_abort) answer(index, {}, true);
    fail(ranks_[index], failure->code, std::move(failure->text), now);
  }
}

/// Reports the first failure of a rank.
void PmiNode::fail(Rank& rank, std::int32_t code, std::string text, Clock::time_point now) {
  rank.end_due.reset();
  if (std::exchange(rank.reported, true)) return;
  messages_.emplace_back(MpiFailed{
      .rank = rank.number, .code = code, .text = std::move(text), .time = clock_value(now)});
}

bool PmiNode::has_room_for(const PmiPut& step) const {
  return bytes_ + step.key.size() + step.value.size() + kPairOverhead <= kMaxSpaceBytes;
}

void PmiNode::put(std::size_t index, PmiPut step) {
  if (!has_room_for(step))
    return answer(index, ranks_[index].state.put_reply("key-value_space_is_full"));
  if (step.scope == PmiScope::node) return put_attribute(index, step);
  store(space_, step.key, std::move(step.value));
  new_keys_.insert(std::move(step.key));
  answer(index, ranks_[index].state.put_reply({}));
}

void PmiNode::put_attribute(std::size_t index, const PmiPut& step) {
  store(attributes_, step.key, step.value);
  answer(index, ranks_[index].state.put_reply({}));
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].wanted != step.key) continue;
    ranks_[i].wanted.clear();
    answer(i, ranks_[i].state.get_reply(&step.value));
  }
}

void PmiNode::store(Pairs& pairs, const std::string& key, std::string value) {
  const auto [at, is_new] = pairs.try_emplace(key);
  if (is_new) bytes_ += key.size() + kPairOverhead;
  bytes_ += value.size();
  bytes_ -= at->second.size();
  at->second = std::move(value);
}

void PmiNode::get(std::size_t index, const PmiGet& step) {
  PmiRank& rank = ranks_[index].state;
  const Pairs& pairs = step.scope == PmiScope::node ? attributes_ : space_;
  const auto found = pairs.find(step.key);
  const bool known = found != pairs.end();
  if (!known && step.waits && step.scope == PmiScope::node) {
    ranks_[index].wanted = step.key;
    return rank.wait_for_pair();
  }
  answer(index, rank.get_reply(known ? &found->second : nullptr));
}

/// Finds ranks that wait for a node attribute while no rank of the node can put it any more: a
/// fence in which others wait needs all ranks.
void PmiNode::look_for_hopeless_waits(Clock::time_point now) {
  const auto cannot_put = [](const Rank& rank) {
    return rank.closed || rank.state.has_left() || rank.state.waits_in_fence() ||
           !rank.wanted.empty();
  };
  if (!std::ranges::all_of(ranks_, cannot_put)) return;
  for (Rank& rank : ranks_)
    if (!rank.wanted.empty())
      fail(rank, 1,
           fmt::format("waits for the node attribute '{}', which no rank of its node can put",
                       rank.wanted),
           now);
}

void PmiNode::join(Clock::time_point now) {
  if (++waiting_ < ranks_.size()) {
    if (!report_at_) report_at_ = now + kReportAfter;
    return;
  }
  report_at_.reset();
  reported_.clear();
  KeyValues pairs;
  for (const std::string& key : std::exchange(new_keys_, {}))
    if (!has_all_) pairs.emplace_back(key, space_.at(key));
  for (std::string& data : cut_pairs(pairs))
    messages_.emplace_back(FenceIn{.last = false, .data = std::move(data)});
  std::get<FenceIn>(messages_.back()).last = true;
}

void PmiNode::take(FenceOut&& message) {
  if (!message.name.empty()) return;  // of PMIx
  for (auto& [key, value] : read_pairs(message.data)) store(key, std::move(value));
  if (!message.last || waiting_ < ranks_.size()) return;
  waiting_ = 0;
  for (std::size_t i = 0; i < ranks_.size(); ++i) answer(i, ranks_[i].state.release());
}

void PmiNode::take(const NameAnswer& message) {
  const std::optional<std::size_t> index = index_of(message.rank);
  if (!index || !ranks_[*index].state.waits_for_name()) return;
  answer(*index, ranks_[*index].state.name_reply(message));
}

/// Returns whether others of the job lose a rank in the middle if this one goes now.
bool PmiNode::is_unfinished(const Rank& rank) const {
  return !alone_ && rank.state.is_ready() && !rank.state.has_left();
}

void PmiNode::closed(std::size_t index, Clock::time_point now) {
  Rank& rank = ranks_[index];
  rank.closed = true;
  rank.wanted.clear();
  look_for_hopeless_waits(now);
  if (!is_unfinished(rank) && !rank.state.is_inside_request()) return;
  if (!rank.exited)
    rank.end_due = now + kEndWithin;
  else if (is_unfinished(rank))
    fail(rank, 1, kUnfinished, now);
}

void PmiNode::ended(std::size_t index, int wait_status, Clock::time_point now) {
  Rank& rank = ranks_[index];
  rank.end_due.reset();
  rank.exited = wait_status == 0;
  if (rank.state.has_left() && ended_by_pipe(wait_status))
    lines_.push_back(
        fmt::format("rank {}: ended by SIGPIPE after MPI_Finalize; a second MPI program "
                    "of one rank has no connection, so start it with a dslaunch of its own",
                    rank.number));
  if (!rank.exited)
    rank.reported = true;  // the exit status says more
  else if (rank.closed && is_unfinished(rank))
    fail(rank, 1, kUnfinished, now);
}

std::vector<std::int32_t> PmiNode::missing() const {
  std::vector<std::int32_t> numbers;
  for (const Rank& rank : ranks_)
    if (!rank.state.waits_in_fence()) numbers.push_back(rank.number);
  return numbers;
}

void PmiNode::tick(Clock::time_point now) {
  if (report_at_ && now >= *report_at_) {
    report_at_ = now + kReportAfter;
    std::vector<std::int32_t> now_missing = missing();
    if (now_missing != reported_) messages_.emplace_back(FenceWaits{now_missing});
    reported_ = std::move(now_missing);
  }
  for (Rank& rank : ranks_) {
    if (!rank.end_due || now < *rank.end_due) continue;
    fail(rank, 1,
         rank.state.is_inside_request()
             ? "closed its PMI connection inside a request"
             : "closed its PMI connection after MPI_Init without MPI_Finalize",
         now);
  }
}

Clock::time_point PmiNode::wake_at() const {
  Clock::time_point at = report_at_.value_or(Clock::time_point::max());
  for (const Rank& rank : ranks_)
    if (rank.end_due) at = std::min(at, *rank.end_due);
  return at;
}

}  // namespace ds::launcher
