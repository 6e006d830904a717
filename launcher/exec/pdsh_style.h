// The output and the exit codes of `dslaunch exec --style pdsh`, which are those of pdsh. Pure.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/exec/results.h"
#include "launcher/hosts/hostfile.h"

namespace ds::launcher::exec {

struct PdshStyle {
  std::string self{};          // the beginning of pdsh's own lines: "pdsh@login1"
  std::string program{"ssh"};  // the program that pdsh would run for each host
  bool here = false;           // that program is the command itself (-R exec), not ssh
  bool prefixed = true;        // lines begin with "host: " (-N: not)
  bool batch = false;          // the first interrupt stops all (-b)
  bool full_names = false;     // host names keep their domain (-K)
  bool times = false;          // say how long nodes took, and list all nodes on an interrupt (-d)
};

/// Returns the names that pdsh shows for `hosts`: without their domain, unless a name begins with a
/// digit, domains differ, or `full`.
std::vector<std::string> pdsh_labels(const std::vector<Host>& hosts, bool full);

/// Puts prefixes before whole lines. A line without a newline is kept until the node has ended, as
/// pdsh does.
/// Memory:  the unfinished line of each stream, at most kMostLine; a longer one goes on in pieces.
class PdshLines {
 public:
  static constexpr std::size_t kMostLine = std::size_t{1} << 20;

  /// `prefixes`: by node.
  explicit PdshLines(std::vector<std::string> prefixes)
      : prefixes_(std::move(prefixes)), open_(2 * prefixes_.size()) {}

  /// Returns the lines that `text` of a stream (1 or 2) completes.
  std::string take(int node, int stream, std::string_view text);
  /// Returns the unfinished line of a stream that has ended. It gets no newline.
  std::string rest(int node, int stream);

 private:
  struct Open {
    std::string text{};
    bool goes_on = false;  // the beginning of the line was returned before
  };
  [[nodiscard]] Open& open(int node, int stream) {
    return open_[2 * static_cast<std::size_t>(node) + (stream == 1 ? 0 : 1)];
  }
  std::vector<std::string> prefixes_;
  std::vector<Open> open_;
};

/// Returns pdsh's lines about the end of a node's command; empty for success.
std::string pdsh_result_text(const PdshStyle& style, const std::string& label,
                             const NodeResult& result);

/// Returns the exit code of a node for -S: 255 for a host that was not reached; after the time
/// limit 255, or 254 with `here`.
int pdsh_code_of(const PdshStyle& style, const NodeResult& result);

/// Returns what pdsh prints on an interrupt.
std::string pdsh_interrupt_text(const PdshStyle& style, const std::vector<std::string>& labels,
                                const std::vector<NodeStage>& stages);

/// When a node was dialed, its command started, and the node was done; 0: it did not happen.
struct PdshTimes {
  std::time_t dialed = 0, started = 0, ended = 0;
};
/// Returns the statistics of -d.
std::string pdsh_times_text(const std::vector<PdshTimes>& times,
                            const std::vector<NodeResult>& results);

}  // namespace ds::launcher::exec
