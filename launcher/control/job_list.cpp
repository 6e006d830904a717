#include "launcher/control/job_list.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kShortId = 8;

void sort_by_age(std::vector<JobInfo>& jobs) {
  std::ranges::sort(jobs, {}, [](const JobInfo& job) { return std::pair(job.started_ms, job.id); });
}

std::chrono::milliseconds age_of(const JobInfo& job, std::uint64_t now_ms) {
  return std::chrono::milliseconds(now_ms > job.started_ms ? now_ms - job.started_ms : 0);
}

std::size_t id_length(const std::vector<JobInfo>& jobs) {
  std::size_t length = kShortId;
  for (const JobInfo& a : jobs) {
    for (const JobInfo& b : jobs) {
      if (a.id == b.id) continue;
      const auto [at, other] = std::mismatch(a.id.begin(), a.id.end(), b.id.begin(), b.id.end());
      length = std::max(length, static_cast<std::size_t>(at - a.id.begin()) + 1);
    }
  }
  return length;
}

std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return text;
}

/// Cuts `text` to at most `columns` bytes (0: no limit), between UTF-8 characters.
std::string cut_to(std::string text, std::size_t columns) {
  if (columns == 0 || text.size() <= columns) return text;
  std::size_t end = columns < 3 ? 0 : columns - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

bool is_plain(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || std::string_view("/._-+,=@%:").find(c) != std::string_view::npos ||
         static_cast<unsigned char>(c) >= 0x80;
}

std::string quoted(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

using Row = std::array<std::string, 6>;

Row row_of(const JobInfo& job, std::uint64_t now_ms, std::size_t id_digits) {
  const std::string ranks = job.ranks_left == job.ranks
                                ? fmt::format("{}", job.ranks)
                                : fmt::format("{}/{}", job.ranks_left, job.ranks);
  return {printable(job.id.substr(0, id_digits)),
          age_text(age_of(job, now_ms)),
          printable(job.state),
          job.ranks == 0 ? "-" : ranks,
          job.nodes == 0 ? "-" : fmt::format("{}", job.nodes),
          printable(command_text(job.command))};
}

}  // namespace

std::string age_text(std::chrono::milliseconds age) {
  const long long seconds = age.count() / 1000;
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  if (seconds < 86400) return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{}d{:02}h", seconds / 86400, seconds / 3600 % 24);
}

std::string command_text(std::vector<std::string> words) {
  std::ranges::transform(words, words.begin(), quoted);
  return fmt::format("{}", fmt::join(words, " "));
}

std::string jobs_table(std::vector<JobInfo> jobs, std::uint64_t now_ms, std::size_t columns) {
  sort_by_age(jobs);
  const std::size_t id_digits = id_length(jobs);
  std::vector<Row> rows = {{"JOB", "AGE", "STATE", "RANKS", "NODES", "COMMAND"}};
  for (const JobInfo& job : jobs) rows.push_back(row_of(job, now_ms, id_digits));
  std::array<std::size_t, 6> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); ++i)
      line += fmt::format("{:<{}}  ", row[i], widths[i]);
    const std::size_t left = columns > line.size() + 10 ? columns - line.size() : 10;
    text += line + (columns == 0 ? row.back() : cut_to(row.back(), left)) + "\n";
  }
  return text;
}

std::string jobs_json(std::vector<JobInfo> jobs, std::uint64_t now_ms) {
  sort_by_age(jobs);
  using Json = nlohmann::ordered_json;
  Json array = Json::array();
  for (const JobInfo& job : jobs) {
    const auto seconds = static_cast<std::time_t>(job.started_ms / 1000);
    array.push_back({{"id", job.id},
                     {"state", job.state},
                     {"pid", job.pid},
                     {"host", job.host},
                     {"started", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds))},
                     {"age_seconds", age_of(job, now_ms).count() / 1000},
                     {"ranks", job.ranks},
                     {"ranks_left", job.ranks_left},
                     {"nodes", job.nodes},
                     {"folder", job.folder},
                     {"log", job.log},
                     {"step", job.step < 0 ? Json() : Json(job.step)},
                     {"checkpoint", job.checkpoint.empty() ? Json() : Json(job.checkpoint)},
                     {"command", job.command}});
  }
  constexpr auto kReplaceBadUtf8 = nlohmann::ordered_json::error_handler_t::replace;
  return array.dump(2, ' ', false, kReplaceBadUtf8) + "\n";
}

constexpr std::string_view kWhereEnded =
    "the output of a job with --detach is in dslaunch-ID.log, in the folder where it was started";

std::string choose_job(std::string_view typed, const std::vector<std::string>& ids) {
  std::vector<std::string> matches;
  for (const std::string& id : ids)
    if (id.starts_with(typed)) matches.push_back(id);
  if (matches.size() == 1) return matches.front();
  if (ids.empty())
    throw Error(ErrorKind::usage, "you have no running job on this machine",
                std::string(kWhereEnded));
  if (matches.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("no running job has an id that begins with '{}'", typed),
                "see dslaunch ps; " + std::string(kWhereEnded));
  }
  throw Error(ErrorKind::usage,
              typed.empty() ? std::string("several jobs are running, choose one")
                            : fmt::format("several jobs have ids that begin with '{}'", typed),
              fmt::format("their ids: {}", fmt::join(matches, ", ")));
}

}  // namespace ds::launcher
