// RankReport as bytes, and what it means: different operations, a silent rank, no progress.
#include "engine/comm/rank_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/comm/bytes.h"

namespace ds {
namespace {

void put(ByteWriter& out, const Call& call) {
  out.put(call.number).put(call.operation).put(call.about).put(call.bytes);
}

Call take_call(ByteReader& in) {
  return {.number = in.number(), .operation = in.text(), .about = in.text(), .bytes = in.number()};
}

// Of a report; longer than any job, and far from overflow.
constexpr std::uint64_t kMostMilliseconds = (std::uint64_t{1} << 40) - 1;

const RankReport::InGroup* find_group(const RankReport& report, const std::string& group) {
  const auto found = std::ranges::find(report.groups, group, &RankReport::InGroup::group);
  return found == report.groups.end() ? nullptr : &*found;
}

}  // namespace

std::string text_of(const Call& call) {
  return fmt::format("{}{}{} (number {})", call.operation, call.about.empty() ? "" : " ",
                     call.about, call.number);
}

std::string place_of(const RankReport& report) {
  std::string text = report.doing.empty() ? "between programs" : "in " + report.doing;
  for (const RankReport::InGroup& in : report.groups) {
    if (!in.waiting) continue;
    text += fmt::format(", waiting in {} of group {}", text_of(in.calls.back()),
                        in.group.substr(0, in.group.find('/')));
  }
  return text;
}

std::string encode(const RankReport& report) {
  ByteWriter out;
  out.put(report.progress).put(report.doing).put(std::uint64_t{report.groups.size()});
  for (const RankReport::InGroup& in : report.groups) {
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(in.waited);
    out.put(in.group).put(in.waiting ? 1U : 0U).put(static_cast<std::uint64_t>(waited.count()));
    out.put(in.failed).put(std::uint64_t{in.calls.size()});
    for (const Call& call : in.calls) put(out, call);
  }
  return out.take();
}

std::optional<RankReport> decode_rank_report(std::string_view bytes) {
  ByteReader in(bytes);
  RankReport report{.progress = in.number(), .doing = in.text()};
  for (std::uint64_t groups = in.number(); groups > 0 && in.is_good(); --groups) {
    RankReport::InGroup& group = report.groups.emplace_back();
    group.group = in.text();
    group.waiting = in.number() != 0;
    group.waited = std::chrono::milliseconds(in.number() & kMostMilliseconds);
    group.failed = in.text();
    for (std::uint64_t calls = in.number(); calls > 0 && in.is_good(); --calls)
      group.calls.push_back(take_call(in));
    if (group.waiting && group.calls.empty()) return std::nullopt;
  }
  if (!in.is_done()) return std::nullopt;
  return report;
}

std::string encode(const Findings& findings) {
  ByteWriter out;
  out.put(findings.suspicion).put(findings.place);
  for (const Verdict& verdict : findings.verdicts) {
    out.put(verdict.group);
    put(out, verdict.call);
    out.put(verdict.reason);
  }
  return out.take();
}

std::optional<Findings> decode_findings(std::string_view bytes) {
  ByteReader in(bytes);
  Findings findings{.suspicion = in.text(), .place = in.text()};
  while (in.is_good() && !in.is_done()) {
    findings.verdicts.push_back({.group = in.text(), .call = take_call(in), .reason = in.text()});
  }
  if (!in.is_done()) return std::nullopt;
  return findings;
}

namespace {

// A call that a rank waits in.
struct Waiting {
  int rank = 0;
  const std::string& group;
  const std::vector<int> members;
  const Call& call;
  Clock::time_point since;
};

// Returns a call of another rank that has the same number as ours and differs from it.
const Call* find_other_call(const Waiting& waiting, const RankReport& report) {
  const RankReport::InGroup* in = find_group(report, waiting.group);
  if (in == nullptr) return nullptr;
  for (const Call& call : in->calls) {
    if (call.number != waiting.call.number) continue;
    return call == waiting.call ? nullptr : &call;
  }
  return nullptr;
}

std::string difference_text(const Waiting& waiting, int other, const Call& call) {
  if (text_of(call) == text_of(waiting.call)) {
    return fmt::format("rank {} and rank {} disagree about the sizes of {}", waiting.rank, other,
                       text_of(call));
  }
  return fmt::format("the ranks issue different operations: rank {} issued {}, rank {} issued {}",
                     waiting.rank, text_of(waiting.call), other, text_of(call));
}

bool waits_somewhere(const RankReport& report) {
  return std::ranges::any_of(report.groups, &RankReport::InGroup::waiting);
}

bool waits_in(const RankReport& report, const Waiting& waiting) {
  const RankReport::InGroup* in = find_group(report, waiting.group);
  return in != nullptr && in->waiting && in->calls.back().number == waiting.call.number;
}

// Names, of the ranks that this one waits for, one that is in no collective; failing that, one that
// is in another.
std::string laggard_text(const Waiting& waiting, std::span<const Observed> ranks) {
  const auto report = [&](int rank) -> const RankReport& {
    return ranks[static_cast<std::size_t>(rank)].report;
  };
  for (const bool elsewhere : {false, true}) {
    for (const int rank : waiting.members) {
      if (rank == waiting.rank || waits_in(report(rank), waiting)) continue;
      if (waits_somewhere(report(rank)) == elsewhere)
        return fmt::format("rank {} is behind: it is {}", rank, place_of(report(rank)));
    }
  }
  return "all ranks wait in this operation: they disagree about its sizes, or the "
         "network delivers nothing";
}

// Returns why waiting is useless; nothing while the others may still arrive. `ranks` lists all
// ranks of the world in order, this one included.
std::optional<std::string> judge(const Waiting& waiting, std::span<const Observed> ranks,
                                 Clock::duration patience, Clock::time_point now) {
  for (const int rank : waiting.members) {
    if (rank == waiting.rank) continue;
    const RankReport::InGroup* in =
        find_group(ranks[static_cast<std::size_t>(rank)].report, waiting.group);
    if (in != nullptr && !in->failed.empty())
      return fmt::format("rank {} has given up: {}", rank, in->failed);
    if (const Call* call = find_other_call(waiting, ranks[static_cast<std::size_t>(rank)].report))
      return difference_text(waiting, rank, *call);
  }
  for (const int rank : waiting.members) {
    const Observed& other = ranks[static_cast<std::size_t>(rank)];
    if (rank == waiting.rank || now - other.beat_at < patience) continue;
    return fmt::format(
        "rank {} has been silent for {:.0f} s: it is stopped, or its machine or network "
        "failed; it was {}",
        rank, seconds_of(now - other.beat_at), place_of(other.report));
  }
  if (now - waiting.since < patience) return std::nullopt;
  // Between programs nothing counts progress: slow work there has its own deadline.
  for (const Observed& other : ranks) {
    const bool still = waits_somewhere(other.report) || !other.report.doing.empty();
    if (!still || now - other.progress_at < patience) return std::nullopt;
  }
  return fmt::format("no rank has made progress for {:.0f} s: {}", seconds_of(now - waiting.since),
                     laggard_text(waiting, ranks));
}

}  // namespace

Findings find_hangs(std::span<const Observed> ranks,
                    const std::function<std::vector<int>(const std::string&)>& members_of,
                    Clock::duration patience, Clock::time_point now) {
  Findings findings;
  std::vector<std::pair<std::string, Call>> judged;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const Observed& seen = ranks[rank];
    const bool silent =
        now - seen.beat_at >= patience;  // judged by one of the others, as is one that has given up
    for (const RankReport::InGroup& in : seen.report.groups) {
      if (!in.waiting || silent || !in.failed.empty()) continue;
      const Call& call = in.calls.back();
      if (std::ranges::find(judged, std::pair(in.group, call)) != judged.end()) continue;
      judged.emplace_back(in.group, call);
      const Waiting waiting{.rank = static_cast<int>(rank),
                            .group = in.group,
                            .members = members_of(in.group),
                            .call = call,
                            .since = seen.beat_at - in.waited};
      if (auto reason = judge(waiting, ranks, patience, now))
        findings.verdicts.push_back({in.group, call, *std::move(reason)});
    }
  }
  const auto silence = [&](const Observed& each) { return now - each.beat_at; };
  const auto worst = std::ranges::max_element(ranks, {}, silence);
  if (silence(*worst) >= patience / 2) {
    findings.suspicion = fmt::format("rank {} has been silent for {:.0f} s", worst - ranks.begin(),
                                     seconds_of(silence(*worst)));
  }
  findings.place = place_of(ranks.front().report);
  return findings;
}

}  // namespace ds
