// Source of all texts and numbers:  pdsh 2.34: src/pdsh/dsh.c, src/common/err.c and
// src/common/pipecmd.c.
#include "launcher/exec/pdsh_style.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <system_error>
#include <utility>

#include "engine/base/contract.h"

namespace ds::launcher::exec {
namespace {

using Kind = NodeResult::Kind;

constexpr int kConnectFailed = 255;  // the exit code of the ssh program
constexpr int kTimedOut = 254;       // RC_FAILED of pdsh

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

std::string line_about(const PdshStyle& style, const std::string& label, std::string_view text) {
  return fmt::format("{}: {}: {}\n", style.self, label, text);
}

/// Returns `reason` without the name of the host, which is before the first ": ".
std::string_view without_host(std::string_view reason) {
  const std::size_t end = reason.find(": ");
  return end == std::string_view::npos ? reason : reason.substr(end + 2);
}

std::string exited(const PdshStyle& style, const std::string& label, int code) {
  return line_about(style, label, fmt::format("{} exited with exit code {}", style.program, code));
}

std::string ended_text(const PdshStyle& style, const std::string& label, const RankEnd& end) {
  const std::string prefix = style.prefixed ? label + ": " : "";
  if (style.here && !end.cause.empty()) {
    const std::string why = end.status.code() == contract::kExitNotFound
                                ? std::generic_category().message(ENOENT)
                                : std::string(without_host(end.cause));
    return fmt::format("{}{}: execvp {} failed: {}\n", prefix, style.self, style.program, why) +
           exited(style, label, kConnectFailed);
  }
  if (end.status.success()) return {};
  const std::optional<int> signal = end.status.signal();
  if (!signal) return exited(style, label, end.status.shell_code());
  if (!style.here) return exited(style, label, kConnectFailed);
  return line_about(style, label, fmt::format("{} killed by signal {}", style.program, *signal));
}

}  // namespace

std::vector<std::string> pdsh_labels(const std::vector<Host>& hosts, bool full) {
  std::string_view domain;
  for (const Host& host : hosts) {
    const std::size_t dot = host.name.find('.');
    if (dot == std::string::npos) continue;
    const std::string_view its = std::string_view(host.name).substr(dot);
    full = full || (!domain.empty() && its != domain);
    domain = its;
  }
  std::vector<std::string> labels;
  for (const Host& host : hosts) {
    const bool whole = full || is_digit(host.name.front());
    labels.push_back(whole ? host.name : host.name.substr(0, host.name.find('.')));
  }
  return labels;
}

std::string PdshLines::take(int node, int stream, std::string_view text) {
  Open& open = this->open(node, stream);
  const std::string& prefix = prefixes_[static_cast<std::size_t>(node)];
  std::string lines;
  const auto put = [&](std::string_view piece) {
    if (!open.goes_on) lines += prefix;
    lines += open.text;
    lines += piece;
    open.text.clear();
  };
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    if (newline == std::string_view::npos) break;
    put(text.substr(0, newline + 1));
    open.goes_on = false;
    text.remove_prefix(newline + 1);
  }
  open.text += text;
  if (open.text.size() > kMostLine) {
    put({});
    open.goes_on = true;
  }
  return lines;
}

std::string PdshLines::rest(int node, int stream) {
  Open& open = this->open(node, stream);
  if (open.text.empty()) return {};
  std::string rest = open.goes_on ? "" : prefixes_[static_cast<std::size_t>(node)];
  rest += open.text;
  open = {};
  return rest;
}

std::string pdsh_result_text(const PdshStyle& style, const std::string& label,
                             const NodeResult& result) {
  switch (result.kind) {
    case Kind::exited:
      return ended_text(style, label, result.end);
    case Kind::unreachable:
    case Kind::lost:
      return fmt::format("{}{}: {}\n", style.prefixed ? label + ": " : "", style.program,
                         without_host(result.reason)) +
             exited(style, label, kConnectFailed);
    case Kind::timed_out:
      return line_about(style, label, "command timeout") +
             (style.here ? line_about(style, label,
                                      fmt::format("{} killed by signal {}", style.program, SIGTERM))
                         : exited(style, label, kConnectFailed));
    default:
      return {};
  }
}

int pdsh_code_of(const PdshStyle& style, const NodeResult& result) {
  switch (result.kind) {
    case Kind::exited:
      if (style.here && !result.end.cause.empty()) return kConnectFailed;
      if (!style.here && result.end.status.signal()) return kConnectFailed;
      return result.end.status.shell_code();
    case Kind::unreachable:
    case Kind::lost:
      return kConnectFailed;
    case Kind::timed_out:
      return style.here ? kTimedOut : kConnectFailed;
    default:
      return 0;
  }
}

std::string pdsh_interrupt_text(const PdshStyle& style, const std::vector<std::string>& labels,
                                const std::vector<NodeStage>& stages) {
  std::string text = fmt::format(
      "{0}: interrupt (one more within 1 sec to abort)\n"
      "{0}:  (^Z within 1 sec to cancel pending threads)\n",
      style.self);
  for (std::size_t node = 0; node < stages.size(); ++node) {
    const NodeStage stage = stages[node];
    if (stage == NodeStage::running) text += line_about(style, labels[node], "command in progress");
    if (stage == NodeStage::connecting) text += line_about(style, labels[node], "connecting");
    if (style.times && stage == NodeStage::waiting)
      text += line_about(style, labels[node], "[new]");
    if (style.times && stage == NodeStage::gone) text += line_about(style, labels[node], "[done]");
  }
  return text;
}

std::string pdsh_times_text(const std::vector<PdshTimes>& times,
                            const std::vector<NodeResult>& results) {
  struct Sum {
    std::time_t sum = 0, least = 0, most = 0;
    int count = 0;
    void add(std::time_t value) {
      least = count == 0 ? value : std::min(least, value);
      most = std::max(most, value);
      sum += value;
      ++count;
    }
    [[nodiscard]] std::string text() const {
      if (count == 0) return "no sucesses";  // spelled as pdsh does
      return fmt::format("Avg: {} sec, Min: {} sec,  Max: {} sec", sum / count, least, most);
    }
  };
  Sum connecting, running;
  int failed = 0, canceled = 0;
  for (std::size_t node = 0; node < times.size(); ++node) {
    const PdshTimes& time = times[node];
    const bool never = results[node].kind == Kind::not_started;
    if (never)
      ++canceled;
    else if (results[node].kind == Kind::timed_out || time.started == 0)
      ++failed;
    else {
      connecting.add(time.started - time.dialed);
      running.add(std::max(time.ended, time.started) - time.started);
    }
  }
  std::string text = fmt::format("Connect time:  {}\nCommand time:  {}\nFailures:      {}\n",
                                 connecting.text(), running.text(), failed);
  if (canceled > 0) text += fmt::format("Canceled:      {}\n", canceled);
  return text;
}

}  // namespace ds::launcher::exec
