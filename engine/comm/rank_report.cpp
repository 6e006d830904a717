// RankReport as lines of fields, and judge(): different operations, a silent rank, no progress.
#include "engine/comm/rank_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

namespace ds {
namespace {

// Fields end with a tab and lines with a newline, so names must contain neither.
std::string clean(std::string_view text) {
  std::string cleaned(text);
  std::ranges::replace_if(
      cleaned, [](char c) { return c == '\t' || c == '\n'; }, ' ');
  return cleaned;
}

std::string_view take_field(std::string_view& line, char end) {
  const std::size_t length = std::min(line.find(end), line.size());
  const std::string_view field = line.substr(0, length);
  line.remove_prefix(std::min(length + 1, line.size()));
  return field;
}

bool take_number(std::string_view& line, std::uint64_t& value) {
  const std::string_view field = take_field(line, '\t');
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error == std::errc() && end == field.data() + field.size();
}

std::string fields_of(const Call& call) {
  return fmt::format("{}\t{}\t{}\t{}", call.number, clean(call.operation), clean(call.about),
                     call.bytes);
}

bool take_call(std::string_view& line, Call& call) {
  if (!take_number(line, call.number)) return false;
  call.operation = take_field(line, '\t');
  call.about = take_field(line, '\t');
  return take_number(line, call.bytes);
}

double seconds(Clock::duration span) { return std::chrono::duration<double>(span).count(); }

const RankReport::InGroup* find_group(const RankReport& report, const std::string& group) {
  const auto found = std::ranges::find(report.groups, group, &RankReport::InGroup::group);
  return found == report.groups.end() ? nullptr : &*found;
}

// Returns a call of another rank that has the same number as ours and differs from it.
const Call* find_other_call(const Waiting& waiting, const RankReport& report) {
  const RankReport::InGroup* in = find_group(report, waiting.group);
  if (in == nullptr || waiting.call.number == 0) return nullptr;
  for (const Call& call : in->calls) {
    if (call.number != waiting.call.number) continue;
    const bool same = call.operation == waiting.call.operation &&
                      call.about == waiting.call.about && call.bytes == waiting.call.bytes;
    return same ? nullptr : &call;
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
  return in != nullptr && in->waiting && !in->calls.empty() &&
         in->calls.back().number == waiting.call.number;
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

}  // namespace

std::string text_of(const Call& call) {
  std::string text = call.operation;
  if (!call.about.empty()) text += ' ' + call.about;
  if (call.number != 0) text += fmt::format(" (number {})", call.number);
  return text;
}

std::string place_of(const RankReport& report) {
  std::string text = report.doing.empty() ? "between programs" : "in " + report.doing;
  for (const RankReport::InGroup& in : report.groups) {
    if (!in.waiting || in.calls.empty()) continue;
    text += fmt::format(", waiting in {} of group {}", text_of(in.calls.back()),
                        in.group.substr(0, in.group.find('/')));
  }
  return text;
}

std::string encode(const RankReport& report) {
  std::string text = fmt::format("{}\t{}\t{}\n", report.beat, report.progress, clean(report.doing));
  for (const RankReport::InGroup& in : report.groups) {
    text += fmt::format("{}\t{}\t{}", clean(in.group), in.waiting ? in.waited + 1 : 0,
                        clean(in.failed));
    for (const Call& call : in.calls) text += '\t' + fields_of(call);
    text += '\n';
  }
  return text;
}

std::optional<RankReport> decode_rank_report(std::string_view text) {
  RankReport report;
  std::string_view first = take_field(text, '\n');
  if (!take_number(first, report.beat) || !take_number(first, report.progress)) return std::nullopt;
  report.doing = first;
  while (!text.empty()) {
    std::string_view line = take_field(text, '\n');
    RankReport::InGroup& in = report.groups.emplace_back();
    in.group = take_field(line, '\t');
    std::uint64_t waiting = 0;
    if (!take_number(line, waiting)) return std::nullopt;
    in.waiting = waiting != 0;
    in.waited = waiting - (in.waiting ? 1 : 0);
    in.failed = take_field(line, '\t');
    while (!line.empty())
      if (!take_call(line, in.calls.emplace_back())) return std::nullopt;
  }
  return report;
}

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
        rank, seconds(now - other.beat_at), place_of(other.report));
  }
  if (now - waiting.since < patience) return std::nullopt;
  // Between programs nothing counts progress: slow work there has its own deadline.
  for (const Observed& other : ranks) {
    const bool still = waits_somewhere(other.report) || !other.report.doing.empty();
    if (!still || now - other.progress_at < patience) return std::nullopt;
  }
  return fmt::format("no rank has made progress for {:.0f} s: {}", seconds(now - waiting.since),
                     laggard_text(waiting, ranks));
}

std::string encode(const Findings& findings) {
  std::string text = clean(findings.suspicion) + '\n' + clean(findings.place) + '\n';
  for (const Verdict& verdict : findings.verdicts) {
    text += fmt::format("{}\t{}\t{}\n", clean(verdict.group), fields_of(verdict.call),
                        clean(verdict.reason));
  }
  return text;
}

std::optional<Findings> decode_findings(std::string_view text) {
  Findings findings;
  findings.suspicion = take_field(text, '\n');
  findings.place = take_field(text, '\n');
  while (!text.empty()) {
    std::string_view line = take_field(text, '\n');
    Verdict& verdict = findings.verdicts.emplace_back();
    verdict.group = take_field(line, '\t');
    if (!take_call(line, verdict.call)) return std::nullopt;
    verdict.reason = line;
  }
  return findings;
}

Findings find_hangs(std::span<const Observed> ranks,
                    const std::function<std::vector<int>(const std::string&)>& members_of,
                    Clock::duration patience, Clock::time_point now) {
  Findings findings;
  std::set<std::pair<std::string, std::string>> judged;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const Observed& seen = ranks[rank];
    const bool silent =
        now - seen.beat_at >= patience;  // judged by one of the others, as is one that has given up
    for (const RankReport::InGroup& in : seen.report.groups) {
      if (!in.waiting || in.calls.empty() || silent || !in.failed.empty()) continue;
      const Call& call = in.calls.back();
      if (!judged.emplace(in.group, fields_of(call)).second) continue;
      const Waiting waiting{.rank = static_cast<int>(rank),
                            .group = in.group,
                            .members = members_of(in.group),
                            .call = call,
                            .since = seen.beat_at - std::chrono::milliseconds(in.waited)};
      if (auto reason = judge(waiting, ranks, patience, now))
        findings.verdicts.push_back({in.group, call, *std::move(reason)});
    }
  }
  const auto silence = [&](const Observed& each) { return now - each.beat_at; };
  const auto worst = std::ranges::max_element(ranks, {}, silence);
  if (silence(*worst) >= patience / 2) {
    findings.suspicion = fmt::format("rank {} has been silent for {:.0f} s", worst - ranks.begin(),
                                     seconds(silence(*worst)));
  }
  findings.place = place_of(ranks.front().report);
  return findings;
}

}  // namespace ds
