// Lines of a hostfile -> hosts: adds up repeated bare lines and refuses hosts given twice.
#include "launcher/hosts/hostfile.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>

#include "launcher/hosts/host_line.h"
#include "launcher/hosts/host_ranges.h"
#include "engine/base/text_error.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Puts lines together. A host is its name and its port: one name on two ports is two hosts.
class HostList {
 public:
  void add(const SourceLine& source, const HostLine& line) {
    if (hosts_.size() + line.names.size() > kMaxHosts) {
      throw text_error(source, line.offset, fmt::format("more than {} hosts", kMaxHosts), {});
    }
    const TextPlace place = {std::string(source.file), source.number,
                             text_column(source.text, line.offset)};
    for (const std::string& name : line.names) {
      const auto [entry, is_new] =
          index_.try_emplace(fmt::format("{} {}", name, line.port), hosts_.size());
      if (is_new) {
        hosts_.push_back({name, line.user, line.port, line.slots.value_or(1), place});
        bare_.push_back(!line.slots);
      } else {
        repeat(source, line, entry->second);
      }
    }
  }

  [[nodiscard]] std::vector<Host> take() { return std::move(hosts_); }

 private:
  void repeat(const SourceLine& source, const HostLine& line, std::size_t at) {
    Host& host = hosts_[at];
    const auto fail = [&](std::string_view what, std::string hint) {
      throw text_error(source, line.offset,
                       fmt::format("host '{}' {} (first at {}:{}:{})", host.name, what,
                                   host.place.file, host.place.line, host.place.column),
                       std::move(hint));
    };
    if (!bare_[at] || line.slots) {
      fail("is given twice",
           "give a host one line with slots=N; only bare lines may repeat, and add up");
    }
    if (host.user != line.user) fail("is given twice with different users", "use one user a host");
    if (host.slots == kMaxSlots) fail(fmt::format("has more than {} slots", kMaxSlots), {});
    ++host.slots;
  }

  std::vector<Host> hosts_;
  std::vector<bool> bare_;
  std::unordered_map<std::string, std::size_t> index_;
};

/// Takes the first line off `text`, without its "\n" or "\r\n".
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

std::vector<Host> parse_hostfile(std::string_view text, std::string_view file_name) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  HostList list;
  for (int number = 1; !text.empty(); ++number) {
    const SourceLine source = {file_name, number, take_line(text)};
    if (const std::optional<HostLine> line = parse_host_line(source)) list.add(source, *line);
  }
  std::vector<Host> hosts = list.take();
  if (hosts.empty()) {
    throw Error(ErrorKind::config, fmt::format("{}: no host is named in this file", file_name),
                "write one host a line, as in: node01 slots=8");
  }
  return hosts;
}

}  // namespace ds::launcher
