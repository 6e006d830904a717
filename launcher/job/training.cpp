// Splits the output of rank 0 into lines and handles each.
#include "launcher/job/training.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

namespace ds::launcher {

std::optional<std::int64_t> step_of_line(std::string_view line) {
  constexpr std::string_view kWord = "step ";
  if (!line.starts_with(kWord)) return std::nullopt;
  line.remove_prefix(kWord.size());
  while (line.starts_with(' ')) line.remove_prefix(1);
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), step);
  const bool counted = error == std::errc() && end != line.data() + line.size() && *end == '/';
  return counted ? std::optional(step) : std::nullopt;
}

Training::News Training::ask() {
  wanted_ = true;
  const bool now = hears_ && !sent_;
  sent_ = sent_ || now;
  return {.signal = now};
}

void Training::begin() {
  hears_ = sent_ = false;
  line_.clear();
}

std::vector<Training::News> Training::add(std::string_view text) {
  std::vector<News> all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::size_t room = kLongest - std::min(line_.size(), kLongest);
    line_.append(text.substr(0, std::min(end, room)));
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
    News news = take(line_);
    line_.clear();
    if (news.signal || news.outcome) all.push_back(std::move(news));
  }
  return all;
}

Training::News Training::take(std::string_view text) {
  News news;
  if (!std::exchange(hears_, true) && wanted_) news = ask();
  if (const auto step = step_of_line(text)) step_ = step;
  std::optional<CheckpointLine> line = parse_checkpoint_line(text);
  if (!line) return news;
  if (!line->folder.empty())
    line->folder = (std::filesystem::path(folder_) / line->folder).lexically_normal();
  if (line->what != CheckpointLine::What::failed) checkpoint_ = line->folder;
  if (line->what == CheckpointLine::What::resumed) step_ = line->step;
  if (line->asked && sent_) {
    wanted_ = sent_ = false;
    news.outcome = std::move(line);
  }
  return news;
}

}  // namespace ds::launcher
