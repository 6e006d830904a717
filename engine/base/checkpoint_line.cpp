// Formats and parses the checkpoint status lines. Both directions use the same constants.
#include "engine/base/checkpoint_line.h"

#include <fmt/format.h>

#include <charconv>

#include "engine/base/units.h"

namespace ds {
namespace {

constexpr std::string_view kBegin = "checkpoint: step ";
constexpr std::string_view kSaved = " saved in ";
constexpr std::string_view kDetails = " (";
constexpr std::string_view kFailed = " failed";
constexpr std::string_view kResumed = " resumed from ";
constexpr std::string_view kAsked = ", asked for";
constexpr std::string_view kReason = ": ";

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& letter : line) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x20 || byte == 0x7f) letter = '?';
  }
  return line;
}

std::string short_span(double seconds) {
  return seconds < 0.9995 ? fmt::format("{:.0f} ms", seconds * 1e3) : format_duration(seconds);
}

/// Removes `word` from the front of `text`. Returns false if `text` does not begin with it.
bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::optional<CheckpointLine> read_saved(std::string_view rest, CheckpointLine line) {
  // A folder's name may contain such brackets too, so the details begin at the last one.
  const std::size_t open = rest.rfind(kDetails);
  if (open == std::string_view::npos || open == 0 || !rest.ends_with(')')) return std::nullopt;
  line.folder = rest.substr(0, open);
  std::string_view details = rest.substr(open + kDetails.size());
  details.remove_suffix(1);
  line.asked = details.ends_with(kAsked);
  if (line.asked) details.remove_suffix(kAsked.size());
  line.details = details;
  return line;
}

}  // namespace

std::string saved_line(const SavedCheckpoint& saved) {
  return fmt::format("{}{}{}{}{}{}, stall {}, written in {}{})", kBegin, saved.step, kSaved,
                     one_line(saved.folder), kDetails, format_bytes(saved.bytes),
                     short_span(saved.stall_s), short_span(saved.written_s),
                     saved.asked ? kAsked : "");
}

std::string save_failed_line(std::int64_t step, std::string_view reason, bool asked) {
  return fmt::format("{}{}{}{}{}{}", kBegin, step, kFailed, asked ? kAsked : "", kReason,
                     one_line(reason));
}

std::string resumed_line(std::int64_t step, std::string_view folder) {
  return fmt::format("{}{}{}{}", kBegin, step, kResumed, one_line(folder));
}

std::optional<CheckpointLine> parse_checkpoint_line(std::string_view text) {
  CheckpointLine line;
  if (!take(text, kBegin)) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), line.step);
  if (error != std::errc() || line.step < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (take(text, kSaved)) return read_saved(text, line);
  if (take(text, kResumed)) {
    line.what = CheckpointLine::What::resumed;
    line.folder = text;
    return text.empty() ? std::nullopt : std::optional(line);
  }
  if (!take(text, kFailed)) return std::nullopt;
  line.what = CheckpointLine::What::failed;
  line.asked = take(text, kAsked);
  if (!take(text, kReason)) return std::nullopt;
  line.details = text;
  return line;
}

}  // namespace ds
