#include "launcher/mpi/pmi_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ds::launcher {
namespace {

/// The part of a wrong line that a message shows.
constexpr std::size_t kShown = 60;

/// Returns a line for a message: cut, and with '?' for bytes that are not printable ASCII.
std::string shown(std::string_view line) {
  std::string text(line.substr(0, kShown));
  for (char& letter : text)
    if (letter < ' ' || letter > '~') letter = '?';
  return line.size() > kShown ? text + "..." : text;
}

bool is_printable(std::string_view line) {
  return std::ranges::none_of(line, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

}  // namespace

const std::string* PmiRequest::find(std::string_view name) const {
  const auto found = std::ranges::find(
      attributes, name, [](const auto& pair) -> const auto& { return pair.first; });
  return found == attributes.end() ? nullptr : &found->second;
}

std::optional<int> pmi_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<PmiRequest> PmiReader::next() {
  while (!problem_) {
    const std::string_view rest = std::string_view(buffer_).substr(at_);
    const std::size_t end = rest.find('\n');
    if (std::min(end, rest.size()) > kMaxLine)
      return fail(fmt::format("sent a PMI request of more than {} bytes", kMaxLine), rest);
    if (end == std::string_view::npos) {
      buffer_.erase(0, at_);
      at_ = 0;
      return std::nullopt;
    }
    const std::string_view line = rest.substr(0, end);  // valid until the next feed
    at_ += end + 1;
    if (!is_printable(line)) return fail("sent an invalid PMI request", line);
    const bool of_spawn = in_spawn_ || line.starts_with("mcmd=spawn");
    if (std::optional<PmiRequest> request = of_spawn ? parse_spawn(line) : parse(line))
      return request;
  }
  return std::nullopt;
}

/// Parses "cmd=NAME A=B C=D". A value ends at a blank, but a message of abort has blanks.
std::optional<PmiRequest> PmiReader::parse(std::string_view line) {
  const std::string_view whole = line;
  PmiRequest request;
  while (!line.empty()) {
    if (line.front() == ' ') {
      line.remove_prefix(1);
      continue;
    }
    const std::size_t equals = line.find('=');
    const std::string_view name = line.substr(0, equals);
    if (equals == std::string_view::npos || name.empty() ||
        name.find(' ') != std::string_view::npos)
      return fail("sent an invalid PMI request", whole);
    line.remove_prefix(equals + 1);
    const bool has_blanks = name == "message" || name == "error_msg";
    const std::size_t end = has_blanks ? line.size() : std::min(line.find(' '), line.size());
    if (request.command.empty() && name != "cmd") return fail("sent an invalid PMI request", whole);
    if (request.command.empty())
      request.command = line.substr(0, end);
    else
      request.attributes.emplace_back(name, line.substr(0, end));
    line.remove_prefix(end);
    if (request.command.empty()) break;
  }
  if (request.command.empty()) return fail("sent an invalid PMI request", whole);
  return request;
}

/// Reads lines from "mcmd=spawn" to "endcmd", as many times as the first part says.
std::optional<PmiRequest> PmiReader::parse_spawn(std::string_view line) {
  constexpr std::string_view kTotal = "totspawns=";
  in_spawn_ = true;
  if (line.starts_with(kTotal)) total_spawns_ = pmi_number(line.substr(kTotal.size())).value_or(1);
  if (line != "endcmd") return std::nullopt;
  if (++spawns_ < total_spawns_) return std::nullopt;
  in_spawn_ = false;
  spawns_ = 0;
  total_spawns_ = 1;
  return PmiRequest{.command = "spawn", .attributes = {}};
}

std::optional<PmiRequest> PmiReader::fail(std::string_view what, std::string_view line) {
  problem_ = fmt::format("{}: '{}'", what, shown(line));
  buffer_ = {};
  at_ = 0;
  return std::nullopt;
}

}  // namespace ds::launcher
