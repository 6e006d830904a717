#include "launcher/logs/prefix.h"

#include <fmt/format.h>

#include <array>
#include <ctime>

#include "engine/base/error.h"
#include "engine/base/nearest_word.h"
#include "launcher/hosts/fold_names.h"

namespace ds::launcher {
namespace {

using Ranks = std::span<const RankName* const>;

template <int RankName::*number>
std::string numbers(Ranks ranks, int, const LineTime&) {
  std::vector<int> all;
  for (const RankName* rank : ranks) all.push_back(rank->*number);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return rank_ranges(all);
}

template <std::string RankName::*name>
std::string names(Ranks ranks, int, const LineTime&) {
  if (ranks.size() == 1) return ranks.front()->*name;
  std::vector<std::string> all;
  for (const RankName* rank : ranks)
    if (all.empty() || all.back() != rank->*name) all.push_back(rank->*name);
  return fold_names(all);
}

std::string stream_name(Ranks, int stream, const LineTime&) { return stream == 1 ? "out" : "err"; }
std::string wall_time(Ranks, int, const LineTime& time) { return time_text(time.wall); }
std::string elapsed_time(Ranks, int, const LineTime& time) {
  const auto millis = std::chrono::floor<std::chrono::milliseconds>(time.elapsed).count();
  return fmt::format("{}.{:03}", millis / 1000, millis % 1000);
}

}  // namespace

struct PrefixTemplate::Field {
  std::string_view name;
  std::string (*value)(Ranks ranks, int stream, const LineTime& time);
};
const PrefixTemplate::Field PrefixTemplate::kFields[9] = {
    {"rank", numbers<&RankName::rank>},
    {"local_rank", numbers<&RankName::local_rank>},
    {"node", names<&RankName::node>},
    {"node_rank", numbers<&RankName::node_rank>},
    {"host", names<&RankName::host>},
    {"group", names<&RankName::group>},
    {"stream", stream_name},
    {"time", wall_time},
    {"elapsed", elapsed_time}};

const PrefixTemplate::Field& PrefixTemplate::field_named(std::string_view name,
                                                         std::string_view whole) {
  std::vector<std::string_view> known;
  for (const Field& field : kFields) {
    if (field.name == name) return field;
    known.push_back(field.name);
  }
  const std::string nearest = nearest_word(name, known);
  throw Error(ErrorKind::usage, fmt::format("--prefix '{}': unknown field {{{}}}", whole, name),
              (nearest.empty() ? "" : fmt::format("did you mean {{{}}}? ", nearest)) +
                  fmt::format("known: {{{}}}", fmt::join(known, "} {")));
}

PrefixTemplate PrefixTemplate::parse(std::string_view text) {
  PrefixTemplate prefix;
  std::string literal;
  const auto end_literal = [&] {
    if (!literal.empty()) prefix.parts_.push_back({nullptr, std::move(literal)});
    literal.clear();
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    const bool doubled = at + 1 < text.size() && text[at + 1] == letter;
    if ((letter == '{' || letter == '}') && doubled) {
      literal += letter;
      ++at;
    } else if (letter == '{') {
      const std::size_t close = text.find('}', at);
      if (close == std::string_view::npos)
        throw Error(ErrorKind::usage, fmt::format("--prefix '{}': a {{ without its }}", text),
                    "a brace itself is written twice: {{");
      end_literal();
      prefix.parts_.push_back({&field_named(text.substr(at + 1, close - at - 1), text)});
      at = close;
    } else if (letter == '}') {
      throw Error(ErrorKind::usage, fmt::format("--prefix '{}': a }} without its {{", text),
                  "a brace itself is written twice: }}");
    } else {
      literal += letter;
    }
  }
  end_literal();
  return prefix;
}

PrefixTemplate PrefixTemplate::with_time_first() const {
  PrefixTemplate longer = parse("{time} ");
  longer.parts_.insert(longer.parts_.end(), parts_.begin(), parts_.end());
  return longer;
}

bool PrefixTemplate::has_time() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const Part& part) {
    return part.field != nullptr && (part.field->name == "time" || part.field->name == "elapsed");
  });
}

std::string PrefixTemplate::render(std::span<const RankName* const> ranks, int stream,
                                   const LineTime& time) const {
  std::string text;
  for (const Part& part : parts_)
    text += part.field == nullptr ? part.text : part.field->value(ranks, stream, time);
  return text;
}

std::string time_text(std::chrono::system_clock::time_point time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const auto millis = std::chrono::floor<std::chrono::milliseconds>(time - whole).count();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(whole);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     millis);
}

std::string coloured(std::string_view prefix, int rank) {
  // Red is left out, because it means an error.
  constexpr std::array<int, 6> kColours = {36, 32, 33, 35, 34, 96};
  const auto colour = kColours[static_cast<std::size_t>(rank) % kColours.size()];
  return fmt::format("\x1b[{}m{}\x1b[0m", colour, prefix);
}

}  // namespace ds::launcher
