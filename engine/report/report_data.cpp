#include "engine/report/report_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/report/decimate.h"
#include "engine/report/page_text.h"
#include "engine/report/run_facts.h"

namespace ds::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostEvents = 300;
constexpr std::size_t kMostSets = 12;      // named validation sets
constexpr std::size_t kMostRanks = 8;      // ranks that were slowest
constexpr std::size_t kLongestText = 300;  // bytes of a value of the configuration

/// How many points a run may have, so that a page stays below 2 MB for any number of runs up to
/// about 100.
struct RunLimits {
  std::size_t points, phase_columns;
  std::size_t marks;  // validations of all sets together, or checkpoints
};

RunLimits limits_for(std::size_t runs) {
  const auto share = [runs](std::size_t all, std::size_t fewest, std::size_t most) {
    return std::clamp(all / runs, fewest, most);
  };
  return {share(10000, 60, 1000), share(1200, 12, 120), share(5000, 24, 500)};
}

std::string clipped(const std::string& text) {
  return text.size() <= kLongestText ? text : text.substr(0, kLongestText) + "…";
}

/// Rounds to 6 significant digits, which are more than a screen shows and halve the page.
Json rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

Json rounded(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(rounded(value));
  return list;
}

void add_position(Json& json, const Position& at) {
  json["step"].push_back(at.step);
  json["tokens"].push_back(rounded(at.tokens));
  json["elapsed"].push_back(rounded(at.elapsed_s));
}

Json positions() {
  return {{"step", Json::array()}, {"tokens", Json::array()}, {"elapsed", Json::array()}};
}

/// Whether a figure jumps from line to line, so that its least and most say more than one value.
bool is_noisy(Figure figure) {
  return figure == Figure::loss || figure == Figure::grad_norm || figure == Figure::tokens_per_s;
}

Json figures_json(const JoinedRun& run, std::size_t most) {
  const std::vector<Column> columns = columns_of(run.steps, most);
  Json json = positions();
  for (const Column& column : columns) add_position(json, run.steps[line_of(run.steps, column)].at);
  const bool has_each = columns.size() == run.steps.size();
  for (std::size_t i = 0; i < kFigures; ++i) {
    const auto figure = static_cast<Figure>(i);
    Curve curve =
        curve_of(run.steps, columns, [figure](const StepLine& line) { return line.of(figure); });
    if (!curve.has_numbers()) continue;
    Json& held = json["figures"][std::string(kFigureKeys[i])];
    if (!is_noisy(figure))
      for (std::size_t k = 0; k < columns.size(); ++k)
        curve.mean[k] = run.steps[line_of(run.steps, columns[k])].of(figure);
    held["mean"] = rounded(curve.mean);
    if (has_each || !is_noisy(figure)) continue;
    held["least"] = rounded(curve.least);
    held["most"] = rounded(curve.most);
  }
  return json;
}

Json phases_json(const JoinedRun& run, std::size_t most) {
  std::vector<StepLine> lines;
  PhaseSeconds sums{};
  std::map<int, std::int64_t> counts;
  for (const StepLine& line : run.steps) {
    if (line.slowest < 0) continue;
    lines.push_back(line);
    ++counts[line.slowest];
    for (std::size_t i = 0; i < kStepPhases; ++i) sums[i] += static_cast<double>(line.phases[i]);
  }
  if (lines.empty()) return nullptr;
  Json json = positions();
  const std::vector<Column> columns = columns_of(lines, most);
  for (const Column& column : columns) add_position(json, lines[line_of(lines, column)].at);
  json["lines"] = lines.size();
  for (std::size_t i = 0; i < kStepPhases; ++i) {
    if (sums[i] <= 0) continue;
    const Curve curve = curve_of(
        lines, columns, [i](const StepLine& line) { return static_cast<double>(line.phases[i]); });
    json["phases"].push_back({{"name", kStepPhaseNames[i]},
                              {"mean", rounded(sums[i] / static_cast<double>(lines.size()))},
                              {"seconds", rounded(curve.mean)}});
  }
  std::vector<std::pair<int, std::int64_t>> ranks(counts.begin(), counts.end());
  std::ranges::stable_sort(ranks, std::greater<>(), &std::pair<int, std::int64_t>::second);
  json["ranks"] = ranks.size();
  if (ranks.size() > kMostRanks) ranks.resize(kMostRanks);
  for (const auto& [rank, count] : ranks) json["slowest"].push_back({rank, count});
  return json;
}

/// Returns every so many-th index of `count`, the last one included.
std::vector<std::size_t> thinned(std::size_t count, std::size_t most) {
  std::vector<std::size_t> kept;
  const std::size_t each = (count + most - 1) / most;
  for (std::size_t i = 0; i < count; ++i)
    if (i % std::max<std::size_t>(each, 1) == 0 || i + 1 == count) kept.push_back(i);
  return kept;
}

Json validations_json(const JoinedRun& run, std::size_t marks) {
  std::map<std::string, std::vector<const ValidationLine*>> sets;
  for (const ValidationLine& line : run.validations) sets[line.set].push_back(&line);
  Json list = Json::array();
  for (const auto& [name, lines] : sets) {
    if (list.size() == kMostSets) break;
    Json json = {{"name", clipped(name)}};
    json.update(positions());
    json["loss"] = Json::array();
    for (const std::size_t i : thinned(
             lines.size(), std::max<std::size_t>(marks / std::min(sets.size(), kMostSets), 2))) {
      add_position(json, lines[i]->at);
      json["loss"].push_back(rounded(lines[i]->loss));
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json saves_json(const JoinedRun& run, std::size_t marks) {
  if (run.saves.empty()) return nullptr;
  Json json = positions();
  double stall = 0, longest = 0, written = 0;
  for (const SaveLine& save : run.saves) {
    stall += save.stall_s;
    written += save.written_s;
    longest = std::max(longest, save.stall_s);
  }
  json["count"] = run.saves.size();
  json["last_step"] = run.saves.back().at.step;
  json["bytes"] = rounded(run.saves.back().bytes);
  json["stall_sum"] = rounded(stall);
  json["stall_longest"] = rounded(longest);
  json["written_mean"] = rounded(written / static_cast<double>(run.saves.size()));
  json["stall"] = json["written"] = Json::array();
  // Pauses are few and short: the longest of those that share a mark is shown.
  const std::size_t each = std::max<std::size_t>((run.saves.size() + marks - 1) / marks, 1);
  for (std::size_t begin = 0; begin < run.saves.size(); begin += each) {
    const auto group =
        std::span(run.saves).subspan(begin, std::min(each, run.saves.size() - begin));
    const auto& save = *std::ranges::max_element(group, {}, &SaveLine::stall_s);
    add_position(json, save.at);
    json["stall"].push_back(rounded(save.stall_s));
    json["written"].push_back(rounded(save.written_s));
  }
  return json;
}

Json facts_json(const Facts& facts) {
  Json list = Json::array();
  for (const auto& [label, value] : facts) list.push_back({label, clipped(value)});
  return list;
}

Json run_json(const ReportRun& given, std::int64_t now, const RunLimits& limits) {
  const std::vector<RunPart>& parts = given.files.parts;
  const JoinedRun run = join_parts(parts);
  const RunPart& newest = parts.back();
  const RunState state = state_of(newest, now);
  constexpr const char* kStates[] = {"finished", "stopped", "running", "interrupted"};
  Json json;
  json["name"] = clipped(given.name);
  json["path"] = given.files.path;
  json["state"] = kStates[static_cast<int>(state)];
  json["state_text"] = state_text(state, newest, run);
  json["lines"] = run.steps.size();
  json["results"] = facts_json(result_facts(newest, run));
  json["setup"] = facts_json(setup_facts(parts, run, state));
  json["curves"] = figures_json(run, limits.points);
  json["validations"] = validations_json(run, limits.marks);
  json["saves"] = saves_json(run, limits.marks);
  json["phases"] = phases_json(run, limits.phase_columns);
  json["resumes"] = positions();
  for (const Resume& resume : run.resumes) {
    const auto line = std::ranges::upper_bound(run.steps, resume.step, {},
                                               [](const StepLine& step) { return step.at.step; });
    if (line != run.steps.end() && json["resumes"]["step"].size() < limits.marks)
      add_position(json["resumes"], line->at);
  }
  json["events"] = Json::array();
  for (const RunEvent& event : events_of(parts, run)) {
    if (json["events"].size() == kMostEvents) break;
    json["events"].push_back({event.step, clipped(event.text)});
  }
  return json;
}

}  // namespace

struct ReportData::Held {
  std::size_t expected = 1;
  std::int64_t now = 0;
  Json runs = Json::array();
  std::vector<TextByKey> configs{};
};

ReportData::ReportData(std::size_t runs, std::int64_t now) : held_(std::make_unique<Held>()) {
  held_->expected = std::max<std::size_t>(runs, 1);
  held_->now = now;
}

ReportData::~ReportData() = default;

void ReportData::add(const ReportRun& run) {
  held_->runs.push_back(run_json(run, held_->now, limits_for(held_->expected)));
  held_->configs.push_back(run.files.parts.back().config);
}

bool ReportData::has_steps() const {
  return std::ranges::any_of(held_->runs, [](const Json& run) { return run["lines"] != 0; });
}

std::string ReportData::json() const {
  Json json;
  json["made"] = held_->now;
  json["version"] = DS_VERSION;
  json["runs"] = held_->runs;
  json["differences"] = Json::array();
  std::set<std::string> keys;
  for (const TextByKey& config : held_->configs)
    for (const auto& [key, value] : config) keys.insert(key);
  for (const std::string& key : keys) {
    Json values = Json::array();
    bool differs = false;
    for (const TextByKey& config : held_->configs) {
      const auto found = config.find(key);
      values.push_back(found == config.end() ? Json(nullptr) : Json(clipped(found->second)));
      const auto first = held_->configs.front().find(key);
      const bool has = found != config.end(), first_has = first != held_->configs.front().end();
      differs = differs || has != first_has || (has && found->second != first->second);
    }
    if (differs) json["differences"].push_back({{"key", clipped(key)}, {"values", values}});
  }
  return text_for_script(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::vector<std::string> distinct_names(const std::vector<std::string>& paths) {
  const auto tail = [](const std::string& path, int components) {
    const std::filesystem::path whole(path);
    std::filesystem::path end;
    int left = components;
    for (auto at = whole.end(); at != whole.begin() && left > 0; --left)
      end = end.empty() ? *--at : *--at / end;
    return end.string();
  };
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    int components = 1;
    const auto shares = [&](const std::string& other) {
      return other != path && tail(other, components) == tail(path, components);
    };
    while (components < 32 && std::ranges::any_of(paths, shares)) ++components;
    names.push_back(tail(path, components));
  }
  return names;
}

}  // namespace ds::report
