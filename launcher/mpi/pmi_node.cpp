#include "launcher/mpi/pmi_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ds::launcher {
namespace {

constexpr const char* kMappingKey = "PMI_process_mapping";
/// Memory of a pair besides its bytes, in the map and in frames.
constexpr std::size_t kPairOverhead = 64;

}  // namespace

PmiNode::PmiNode(const Spec& spec, const std::string& space)
    : alone_(std::ssize(spec.ranks) == spec.mpi.size) {
  for (const RankSpec& rank : spec.ranks)
    ranks_.push_back(
        {rank.rank, PmiRank({.space = space, .size = spec.mpi.size, .appnum = rank.program}), {}});
  if (!spec.mpi.process_mapping.empty()) store(kMappingKey, spec.mpi.process_mapping);
}

void PmiNode::take(std::size_t index, std::string_view bytes, Clock::time_point now) {
  for (PmiStep& step : ranks_[index].state.take(bytes)) perform(index, std::move(step), now);
}

void PmiNode::perform(std::size_t index, PmiStep step, Clock::time_point now) {
  if (auto* reply = std::get_if<PmiReply>(&step)) {
    answer(index, std::move(reply->text));
  } else if (auto* pair = std::get_if<PmiPut>(&step)) {
    put(index, std::move(*pair));
  } else if (const auto* wanted = std::get_if<PmiGet>(&step)) {
    get(index, *wanted);
  } else if (std::holds_alternative<PmiJoin>(step)) {
    join(now);
  } else if (std::holds_alternative<PmiLeave>(step)) {
    answer(index, pmi_result("finalize_ack", {}));
  } else if (const auto* refused = std::get_if<PmiRefusal>(&step)) {
    lines_.push_back(fmt::format("rank {}: {} is not supported by dslaunch", ranks_[index].number,
                                 refused->what));
  } else if (auto* failure = std::get_if<PmiFailure>(&step)) {
    // A rank that calls abort waits to be stopped.
    if (!failure->text.starts_with("called MPI_Abort")) answer(index, {}, true);
    messages_.emplace_back(MpiFailed{.rank = ranks_[index].number,
                                     .code = failure->code,
                                     .text = std::move(failure->text),
                                     .time = clock_value(now)});
  }
}

void PmiNode::put(std::size_t index, PmiPut step) {
  const std::size_t more = step.key.size() + step.value.size() + kPairOverhead;
  if (space_bytes_ + more > kMaxSpaceBytes)
    return answer(index, pmi_result("put_result", "key-value_space_is_full"));
  store(step.key, step.value);
  new_pairs_.emplace_back(std::move(step.key), std::move(step.value));
  answer(index, pmi_result("put_result", {}));
}

void PmiNode::store(const std::string& key, std::string value) {
  const auto [at, is_new] = space_.try_emplace(key);
  if (is_new) space_bytes_ += key.size() + kPairOverhead;
  space_bytes_ += value.size();
  space_bytes_ -= at->second.size();
  at->second = std::move(value);
}

void PmiNode::get(std::size_t index, const PmiGet& step) {
  const auto found = space_.find(step.key);
  if (found == space_.end())
    return answer(index, pmi_result("get_result", "key_not_found", "value=unknown"));
  answer(index, pmi_result("get_result", {}, "value=" + found->second));
}

void PmiNode::join(Clock::time_point now) {
  if (++waiting_ < ranks_.size()) {
    if (!report_at_) report_at_ = now + kReportAfter;
    return;
  }
  report_at_.reset();
  reported_.clear();
  const KeyValues pairs = std::exchange(new_pairs_, {});
  for (std::string& data : cut_pairs(alone_ ? KeyValues() : pairs))
    messages_.emplace_back(FenceIn{.last = false, .data = std::move(data)});
  std::get<FenceIn>(messages_.back()).last = true;
}

void PmiNode::take(FenceOut&& message) {
  for (auto& [key, value] : read_pairs(message.data)) store(key, std::move(value));
  if (!message.last || waiting_ < ranks_.size()) return;
  waiting_ = 0;
  for (std::size_t i = 0; i < ranks_.size(); ++i) answer(i, ranks_[i].state.release());
}

void PmiNode::closed(std::size_t index, Clock::time_point now) {
  if (ranks_[index].state.is_inside_request()) ranks_[index].half_due = now + kHalfAfter;
}

void PmiNode::ended(std::int32_t rank) {
  const auto known = std::ranges::find(ranks_, rank, &Rank::number);
  if (known != ranks_.end()) known->half_due.reset();
}

std::vector<std::int32_t> PmiNode::missing() const {
  std::vector<std::int32_t> numbers;
  for (const Rank& rank : ranks_)
    if (!rank.state.waits()) numbers.push_back(rank.number);
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
    if (!rank.half_due || now < *rank.half_due) continue;
    rank.half_due.reset();
    messages_.emplace_back(MpiFailed{.rank = rank.number,
                                     .code = 1,
                                     .text = "closed its PMI connection inside a request",
                                     .time = clock_value(now)});
  }
}

Clock::time_point PmiNode::wake_at() const {
  Clock::time_point at = report_at_.value_or(Clock::time_point::max());
  for (const Rank& rank : ranks_)
    if (rank.half_due) at = std::min(at, *rank.half_due);
  return at;
}

}  // namespace ds::launcher
