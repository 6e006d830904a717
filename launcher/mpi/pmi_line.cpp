#include "launcher/mpi/pmi_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ds::launcher {
namespace {

/// The part of a wrong line that a message shows.
constexpr std::size_t kShown = 60;
/// Characters of the length before a request of PMI-2.
constexpr std::size_t kFrameLength = 6;

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

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
  needs_more_ = false;
  while (!problem_ && !needs_more_) {
    const std::string_view rest = std::string_view(buffer_).substr(at_);
    const bool framed =
        !in_spawn_ && !rest.empty() && (rest.front() == ' ' || is_digit(rest.front()));
    if (std::optional<PmiRequest> request = framed ? next_frame(rest) : next_line(rest))
      return request;
  }
  if (needs_more_) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  return std::nullopt;
}

std::optional<PmiRequest> PmiReader::next_line(std::string_view rest) {
  const std::size_t end = rest.find('\n');
  if (std::min(end, rest.size()) > kMaxLine)
    return fail(fmt::format("sent a PMI request of more than {} bytes", kMaxLine), rest);
  needs_more_ = end == std::string_view::npos;
  if (needs_more_) return std::nullopt;
  const std::string_view line = rest.substr(0, end);  // valid until the next feed
  at_ += end + 1;
  if (!is_printable(line)) return fail("sent an invalid PMI request", line);
  return in_spawn_ || line.starts_with("mcmd=spawn") ? parse_spawn(line) : parse(line);
}

std::optional<PmiRequest> PmiReader::next_frame(std::string_view rest) {
  needs_more_ = rest.size() < kFrameLength;
  if (needs_more_) return std::nullopt;
  const std::string_view start = rest.substr(0, kFrameLength);
  // MPICH writes blanks before the digits, Slurm's client after them.
  const std::size_t first = std::min(start.find_first_not_of(' '), kFrameLength);
  const std::size_t end = start.find_last_not_of(' ') + 1;
  const std::optional<int> number = pmi_number(start.substr(first, end - std::min(first, end)));
  if (!number || *number < 0) return fail("sent an invalid PMI request", start);
  const auto length = static_cast<std::size_t>(*number);
  if (length > kMaxFrame)
    return fail(fmt::format("sent a PMI request of more than {} bytes", kMaxFrame), start);
  needs_more_ = rest.size() < kFrameLength + length;
  if (needs_more_) return std::nullopt;
  const std::string_view frame = rest.substr(kFrameLength, length);
  at_ += kFrameLength + length;
  if (!is_printable(frame)) return fail("sent an invalid PMI request", frame);
  return parse_frame(frame);
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

/// Parses "cmd=NAME;A=B;C=D;". In a value, ";;" is a semicolon.
std::optional<PmiRequest> PmiReader::parse_frame(std::string_view frame) {
  const std::string_view whole = frame;
  PmiRequest request{.of_pmi2 = true};
  while (!frame.empty()) {
    const std::size_t equals = frame.find('=');
    const std::string_view name = frame.substr(0, equals);
    const bool is_first = request.command.empty();
    if (equals == std::string_view::npos || name.empty() || is_first != (name == "cmd"))
      return fail("sent an invalid PMI request", whole);
    frame.remove_prefix(equals + 1);
    std::string value;
    while (!frame.empty() && (frame.front() != ';' || frame.starts_with(";;"))) {
      value += frame.front();
      frame.remove_prefix(frame.front() == ';' ? 2 : 1);
    }
    if (!frame.empty()) frame.remove_prefix(1);
    if (!is_first)
      request.attributes.emplace_back(name, std::move(value));
    else if ((request.command = std::move(value)).empty())
      break;
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
