// Formats the details of a verdict first and the headline last; builds the JSON object, whose keys
// docs/failure.md defines.
#include "launcher/job/verdict_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/units.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kKindsNamed = 6;
constexpr std::size_t kErrorFileLines = 20;

std::string quoted_line(const std::string& line) { return "\n  | " + printable(line); }

std::string last_lines_text(int rank, const std::vector<std::string>& lines) {
  std::string text = fmt::format("the last lines of rank {}:", rank);
  for (const std::string& line : lines) text += quoted_line(line);
  return text;
}

std::string error_file_text(int rank, const std::string& file) {
  std::string text = fmt::format("the error file of rank {}:", rank);
  std::istringstream in(file);
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    if (lines == kErrorFileLines) return text + "\n  | ...";
    text += quoted_line(line);
  }
  return text;
}

std::string place_text(const JobVerdict& verdict, const std::string& device) {
  const int rank = verdict.cause.rank;
  const RankPlace& place = verdict.placement.ranks[static_cast<std::size_t>(rank)];
  std::string text = fmt::format(
      "rank {}: node rank {}, local rank {}, slot {}", verdict.placement.shown_rank(rank),
      verdict.placement.shown_node(place.node_rank), place.local_rank, place.slot);
  const int pid = verdict.ranks[static_cast<std::size_t>(rank)].pid;
  if (!device.empty()) text += ", GPU " + printable(device);
  if (pid > 0) text += fmt::format(", process {}", pid);
  return text;
}

bool is_cause(const JobVerdict& verdict, int rank) {
  if (is_of_rank(verdict.cause)) return verdict.cause.rank == rank;
  const auto index = static_cast<std::size_t>(rank);
  return verdict.cause.kind == Cause::Kind::node &&
         verdict.placement.ranks[index].node_rank == verdict.cause.node &&
         !verdict.ranks[index].after_cause && verdict.ranks[index].end.status.is_lost();
}

/// Returns whether a rank ended by SIGTERM, as stopped ranks do.
bool is_ordinary_stop(const RankEnd& end) {
  return end.status.signal() == SIGTERM || end.status.code() == 128 + SIGTERM;
}

using Json = nlohmann::ordered_json;

// By Cause::Kind.
constexpr const char* kKindNames[] = {"none",   "rank",   "node",     "unreachable",
                                      "signal", "output", "deadline", "exit_skew",
                                      "input",  "mpi",    "fence"};

double seconds(std::chrono::microseconds span) { return static_cast<double>(span.count()) / 1e6; }

Json rank_cause(const JobVerdict& verdict, const std::string& device) {
  const Cause& cause = verdict.cause;
  const RankPlace& place = verdict.placement.ranks[static_cast<std::size_t>(cause.rank)];
  const ExitStatus& status = cause.end.status;
  Json json;
  json["rank"] = verdict.placement.shown_rank(cause.rank);
  json["group"] = verdict.placement.groups[static_cast<std::size_t>(place.group)].name;
  json["node"] = node_name(verdict.placement, place.node_rank);
  json["node_rank"] = verdict.placement.shown_node(place.node_rank);
  json["local_rank"] = place.local_rank;
  json["slot"] = place.slot;
  json["device"] = device.empty() ? Json() : Json(printable(device));
  json["pid"] = verdict.ranks[static_cast<std::size_t>(cause.rank)].pid;
  json["exit_code"] = status.code() ? Json(*status.code()) : Json();
  if (cause.kind == Cause::Kind::mpi) json["exit_code"] = cause.code;
  json["signal"] = status.signal() ? Json(signal_name(*status.signal())) : Json();
  json["core_dumped"] = status.dumped_core();
  json["detail"] = printable(cause.end.cause.empty() ? cause.end.note : cause.end.cause);
  return json;
}

Json bad_nodes_json(const JobVerdict& verdict) {
  Json json = Json::array();
  for (const BadNode& bad : verdict.cause.bad)
    json.push_back({{"node", printable(node_name(verdict.placement, bad.node))},
                    {"node_rank", bad.node},
                    {"stage", printable(bad.stage)},
                    {"reason", printable(bad.reason)}});
  return json;
}

Json cause_json(const JobVerdict& verdict, const std::string& device) {
  const Cause& cause = verdict.cause;
  Json json;
  json["kind"] = kKindNames[static_cast<std::size_t>(cause.kind)];
  if (is_of_rank(cause)) json.update(rank_cause(verdict, device));
  if (cause.kind == Cause::Kind::node) {
    json["node"] = node_name(verdict.placement, cause.node);
    json["node_rank"] = cause.node;
  }
  if (cause.kind == Cause::Kind::signal) json["signal"] = signal_name(cause.signo);
  if (!cause.reason.empty()) json["reason"] = printable(cause.reason);
  if (cause.kind == Cause::Kind::deadline || cause.kind == Cause::Kind::skew ||
      cause.kind == Cause::Kind::fence) {
    json["seconds"] = seconds(cause.span);
    json[cause.kind == Cause::Kind::fence ? "missing" : "running"] = cause.running;
  }
  if (cause.kind == Cause::Kind::unreachable) json["nodes"] = bad_nodes_json(verdict);
  if (!cause.note.empty()) json["no_restart"] = printable(cause.note);
  return json;
}

/// Returns the ends of all ranks: equal ends together, in the order of their first rank.
Json ends_json(const JobVerdict& verdict) {
  ByText<int> ends;
  for (std::size_t rank = 0; rank < verdict.ranks.size(); ++rank) {
    const RankRecord& record = verdict.ranks[rank];
    ends.add(!verdict.began ? "not started"
             : record.ended ? printable(describe(record.end))
                            : "not known",
             verdict.placement.shown_rank(static_cast<int>(rank)));
  }
  Json json = Json::array();
  for (const auto& [end, ranks] : ends)
    json.push_back({{"ranks", number_ranges(ranks)}, {"count", ranks.size()}, {"end", end}});
  return json;
}

Json losses_json(const JobVerdict& verdict) {
  Json json = Json::array();
  for (const NodeLoss& loss : verdict.losses)
    json.push_back({{"node", printable(loss.host)},
                    {"node_rank", loss.node},
                    {"reason", printable(loss.reason)},
                    {"sweep", loss.sweep == NodeLoss::Sweep::done ? "done" : "unreached"},
                    {"killed", loss.killed}});
  return json;
}

Json restarts_json(const JobVerdict& verdict) {
  Json json = Json::array();
  for (const RestartRecord& restart : verdict.restarts)
    json.push_back({{"cause", restart.why},
                    {"seconds", restart.took ? Json(seconds(*restart.took)) : Json()}});
  return json;
}

// By EpochRecord::Kind.
constexpr const char* kEpochCauses[] = {"start", "lost", "failed", "paused", "joined", "left"};

Json epochs_json(const JobVerdict& verdict) {
  const auto span = [](const std::optional<std::chrono::microseconds>& known) {
    return known ? Json(seconds(*known)) : Json();
  };
  Json json = Json::array();
  for (const EpochRecord& epoch : verdict.epochs) {
    Json reached = Json::object();
    for (const auto& [name, after] : epoch.reached) reached[name] = seconds(after);
    json.push_back({{"epoch", epoch.epoch},
                    {"cause", kEpochCauses[static_cast<std::size_t>(epoch.kind)]},
                    {"text", epoch.why},
                    {"restart", epoch.counted},
                    {"nodes_before", epoch.nodes_before},
                    {"nodes", epoch.nodes},
                    {"ranks_before", epoch.ranks_before},
                    {"ranks", epoch.ranks},
                    {"seen", seconds(epoch.seen)},
                    {"stopped", span(epoch.stopped)},
                    {"placed", span(epoch.placed)},
                    {"started", span(epoch.started)},
                    {"reached", reached}});
  }
  return json;
}

/// Returns "epochs: 4 nodes; 3 (node n1 is lost: reset); 4 (n1 is ready)"; of many only the last.
std::string epochs_text(const JobVerdict& verdict) {
  constexpr std::size_t kEpochsNamed = 5;
  if (verdict.epochs.size() < 2) return {};
  const std::size_t first =
      verdict.epochs.size() > kEpochsNamed ? verdict.epochs.size() - kEpochsNamed : 0;
  std::string text =
      first > 0 ? fmt::format("the last {} of {} epochs: ", kEpochsNamed, verdict.epochs.size())
                : "epochs: ";
  for (std::size_t i = first; i < verdict.epochs.size(); ++i) {
    const EpochRecord& epoch = verdict.epochs[i];
    text += i == first ? counted(epoch.nodes, "node") : fmt::format("; {}", epoch.nodes);
    if (!epoch.why.empty()) text += fmt::format(" ({})", epoch.why);
  }
  return text;
}

/// Returns the file as JSON if it is valid JSON, which PyTorch writes.
Json error_file_json(const std::string& text) {
  if (text.empty()) return {};
  Json parsed = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return parsed.is_discarded() ? Json(printable(text)) : parsed;
}

/// Returns the step of a line: "step  12/100  loss ..." -> 12.
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

}  // namespace

std::optional<std::int64_t> last_step(const std::vector<std::string>& lines) {
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (const auto step = step_of_line(*line)) return step;
  return std::nullopt;
}

std::string others_text(const JobVerdict& verdict) {
  std::map<std::string, std::vector<int>> by_end;
  bool ordinary = true;
  for (std::size_t rank = 0; rank < verdict.ranks.size(); ++rank) {
    const RankRecord& record = verdict.ranks[rank];
    if (!record.ended || is_cause(verdict, static_cast<int>(rank))) continue;
    const bool same = verdict.cause.kind == Cause::Kind::rank && record.end == verdict.cause.end;
    ordinary = ordinary && (same || is_ordinary_stop(record.end));
    by_end[same ? "the same" : describe(record.end)].push_back(
        verdict.placement.shown_rank(static_cast<int>(rank)));
  }
  if (ordinary) return {};
  std::vector<std::pair<std::string, std::vector<int>>> kinds(by_end.begin(), by_end.end());
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  std::string text;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (i == kKindsNamed) {
      text += fmt::format("; and {}", counted(static_cast<int>(kinds.size() - i), "more way"));
      break;
    }
    text +=
        fmt::format("{}{} {}", i > 0 ? "; " : "", number_ranges(kinds[i].second), kinds[i].first);
  }
  return printable(text);
}

std::vector<std::string> verdict_paragraphs(const JobVerdict& verdict, const RankWords& words) {
  std::vector<std::string> paragraphs;
  const bool of_rank = is_of_rank(verdict.cause);
  if (of_rank) {
    const int shown = verdict.placement.shown_rank(verdict.cause.rank);
    if (words.out_of_sight && !words.last_lines.empty())
      paragraphs.push_back(last_lines_text(shown, words.last_lines));
    if (!words.error_file.empty()) paragraphs.push_back(error_file_text(shown, words.error_file));
    if (!paragraphs.empty() || verdict.placement.nodes.size() > 1 || !words.device.empty())
      paragraphs.push_back(place_text(verdict, words.device));
  }
  if (verdict.cause.kind != Cause::Kind::none && verdict.began)
    if (const std::string others = others_text(verdict); !others.empty())
      paragraphs.push_back((of_rank ? "the other ranks: " : "the ranks: ") + others);
  for (const NodeLoss& loss : verdict.losses)
    if (!loss.told) paragraphs.push_back(printable(loss_text(loss)));
  for (const int node : verdict.unanswered)
    paragraphs.push_back(
        printable(fmt::format("node {} did not answer to KILL; check there for leftover processes",
                              verdict.placement.nodes[static_cast<std::size_t>(node)].host.name)));
  for (const std::string& line : words.incomplete_logs) paragraphs.push_back(printable(line));
  if (verdict.cause.kind != Cause::Kind::none)
    if (const std::string epochs = epochs_text(verdict); !epochs.empty())
      paragraphs.push_back(printable(epochs));
  if (const std::string last = headline(verdict); !last.empty()) paragraphs.push_back(last);
  return paragraphs;
}

std::string verdict_json(const JobVerdict& verdict, const RankWords& words,
                         const std::string& job_id) {
  const int code = exit_code(verdict.cause);
  Json json;
  json["format"] = 1;
  json["job"] = job_id;
  json["exit_code"] = code;
  json["text"] = verdict.cause.kind == Cause::Kind::unreachable ? printable(verdict.cause.reason)
                                                                : headline(verdict);
  json["seconds"] = seconds(verdict.ran);
  json["world_size"] = verdict.placement.shown_world();
  json["cause"] = cause_json(verdict, words.device);
  json["last_lines"] = Json::array();
  for (const std::string& line : words.last_lines) json["last_lines"].push_back(printable(line));
  json["step"] = words.step ? Json(*words.step) : Json();
  json["checkpoint"] = words.checkpoint.empty() ? Json() : Json(printable(words.checkpoint));
  json["error_file"] = error_file_json(words.error_file);
  json["ranks"] = ends_json(verdict);
  json["nodes"] = Json::array();
  for (const Node& node : verdict.placement.nodes)
    json["nodes"].push_back(printable(node.host.name));
  json["lost_nodes"] = losses_json(verdict);
  json["unanswered_nodes"] = Json::array();
  for (const int node : verdict.unanswered)
    json["unanswered_nodes"].push_back(node_name(verdict.placement, node));
  json["replaced"] = verdict.replaced;
  json["logs_incomplete"] = Json::array();
  for (const std::string& line : words.incomplete_logs)
    json["logs_incomplete"].push_back(printable(line));
  json["restarts"] = restarts_json(verdict);
  if (!verdict.epochs.empty()) json["epochs"] = epochs_json(verdict);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ds::launcher
