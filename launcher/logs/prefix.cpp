// A template is parsed once and rendered from its parts.
#include "launcher/logs/prefix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "engine/base/error.h"
#include "engine/base/nearest_word.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/hosts/fold_names.h"

namespace ds::launcher {

namespace {

constexpr std::array<std::string_view, 9> kFields = {
    "rank", "local_rank", "node", "node_rank", "host", "group", "stream", "time", "elapsed"};

template <class Of>
std::string numbers(std::span<const RankName* const> ranks, Of of) {
  if (ranks.size() == 1) return std::to_string(of(*ranks.front()));
  std::vector<int> all;
  for (const RankName* rank : ranks) all.push_back(of(*rank));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return rank_ranges(all);
}

template <class Of>
std::string names(std::span<const RankName* const> ranks, Of of) {
  if (ranks.size() == 1) return of(*ranks.front());
  std::vector<std::string> all;
  for (const RankName* rank : ranks)
    if (all.empty() || all.back() != of(*rank)) all.push_back(of(*rank));
  return fold_names(all);
}

}  // namespace

PrefixTemplate::Field PrefixTemplate::field_named(std::string_view name, std::string_view whole) {
  const auto found = std::find(kFields.begin(), kFields.end(), name);
  if (found != kFields.end())
    return static_cast<Field>(found - kFields.begin() + 1);  // the order of Field
  const std::string nearest = nearest_word(name, kFields);
  throw Error(ErrorKind::usage, fmt::format("--prefix '{}': unknown field {{{}}}", whole, name),
              (nearest.empty() ? "" : fmt::format("did you mean {{{}}}? ", nearest)) +
                  fmt::format("known: {{{}}}", fmt::join(kFields, "} {")));
}

PrefixTemplate PrefixTemplate::parse(std::string_view text) {
  PrefixTemplate prefix;
  std::string literal;
  const auto end_literal = [&] {
    if (!literal.empty()) prefix.parts_.push_back({Field::literal, std::move(literal)});
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
      prefix.parts_.push_back({field_named(text.substr(at + 1, close - at - 1), text)});
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
    return part.field == Field::time || part.field == Field::elapsed;
  });
}

std::string PrefixTemplate::value(Field field, std::span<const RankName* const> ranks, int stream,
                                  const LineTime& time) {
  switch (field) {
    case Field::literal:
      break;
    case Field::rank:
      return numbers(ranks, [](const RankName& name) { return name.rank; });
    case Field::local_rank:
      return numbers(ranks, [](const RankName& name) { return name.local_rank; });
    case Field::node_rank:
      return numbers(ranks, [](const RankName& name) { return name.node_rank; });
    case Field::node:
      return names(ranks, [](const RankName& name) { return name.node; });
    case Field::host:
      return names(ranks, [](const RankName& name) { return name.host; });
    case Field::group:
      return names(ranks, [](const RankName& name) { return name.group; });
    case Field::stream:
      return stream == 1 ? "out" : "err";
    case Field::time:
      return time_text(time.wall);
    case Field::elapsed:
      return elapsed_text(time.elapsed);
  }
  return {};
}

std::string PrefixTemplate::render(std::span<const RankName* const> ranks, int stream,
                                   const LineTime& time) const {
  std::string text;
  for (const Part& part : parts_)
    text += part.field == Field::literal ? part.text : value(part.field, ranks, stream, time);
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

std::string elapsed_text(std::chrono::nanoseconds elapsed) {
  const auto millis = std::chrono::floor<std::chrono::milliseconds>(elapsed).count();
  return fmt::format("{}.{:03}", millis / 1000, millis % 1000);
}

std::string coloured(std::string_view prefix, int rank) {
  constexpr std::array<int, 6> kColours = {36, 32, 33,
                                           35, 34, 96};  // not red, which means an error
  const auto colour = kColours[static_cast<std::size_t>(rank) % kColours.size()];
  return fmt::format("\x1b[{}m{}\x1b[0m", colour, prefix);
}

}  // namespace ds::launcher
