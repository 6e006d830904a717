// make_pre_tokenizer(): one function for each type of the tokenizers library.
#include "engine/tokenizer/pre_tokenizers.h"

#include <memory>
#include <utility>

#include "engine/base/error.h"
#include "engine/tokenizer/byte_level.h"
#include "engine/tokenizer/pattern.h"
#include "engine/tokenizer/unicode.h"

namespace ds {
namespace {

/// What becomes of the parts of a text that match.
enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

Behavior behavior_of(const Component& component, const std::string& otherwise) {
  const std::string word = component.text("behavior", otherwise);
  if (word == "Removed") return Behavior::removed;
  if (word == "Isolated") return Behavior::isolated;
  if (word == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (word == "MergedWithNext") return Behavior::merged_with_next;
  if (word == "Contiguous") return Behavior::contiguous;
  component.refuse(fmt::format("the behavior \"{}\" is not supported", word));
}

/// A part of a word, and whether it matches.
struct Cut {
  Part part;
  bool matches;
};

std::vector<Cut> cuts_of(std::string_view text, const std::vector<Part>& found, bool inverted) {
  std::vector<Cut> cuts;
  std::size_t at = 0;
  for (const Part& part : found) {
    if (part.first > at) cuts.push_back({{at, part.first}, inverted});
    cuts.push_back({part, !inverted});
    at = part.second;
  }
  if (at < text.size()) cuts.push_back({{at, text.size()}, inverted});
  return cuts;
}

std::vector<Part> kept(const std::vector<Cut>& cuts, Behavior behavior) {
  std::vector<Part> parts;
  bool before = false;
  for (const auto& [part, matches] : cuts) {
    const bool joins = behavior == Behavior::contiguous             ? matches == before
                       : behavior == Behavior::merged_with_previous ? matches && !before
                                                                    : false;
    if (behavior == Behavior::removed && matches) continue;
    if (joins && !parts.empty()) {
      parts.back().second = part.second;
    } else {
      parts.push_back(part);
    }
    before = matches;
  }
  return parts;
}

/// A match joins what follows it, unless that matches too.
std::vector<Part> merged_with_next(const std::vector<Cut>& cuts) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const bool joins = i > 0 && cuts[i - 1].matches && !cuts[i].matches;
    if (joins) {
      parts.back().second = cuts[i].part.second;
    } else {
      parts.push_back(cuts[i].part);
    }
  }
  return parts;
}

void cut(const Word& word, const std::vector<Part>& found, Behavior behavior, bool inverted,
         std::vector<Word>& out) {
  const std::vector<Cut> cuts = cuts_of(word.text, found, inverted);
  for (const auto& [first, end] :
       behavior == Behavior::merged_with_next ? merged_with_next(cuts) : kept(cuts, behavior))
    if (end > first)
      out.push_back({word.text.substr(first, end - first), word.is_first && first == 0});
}

/// Cuts words where `find` finds parts.
template <class Find>
PreTokenizer splitting(Find find, Behavior behavior, bool inverted = false) {
  return [=](std::vector<Word>& words) {
    std::vector<Word> out;
    std::vector<Part> found;
    for (const Word& word : words) {
      find(word.text, found);
      cut(word, found, behavior, inverted, out);
    }
    words = std::move(out);
  };
}

PreTokenizer by_pattern(const std::string& expression, Behavior behavior, bool inverted = false) {
  const auto pattern = std::make_shared<Pattern>(expression);
  return splitting(
      [pattern](std::string_view text, std::vector<Part>& found) { pattern->find(text, found); },
      behavior, inverted);
}

/// Cuts at single characters of a class.
template <class Is>
PreTokenizer by_class(Is is, Behavior behavior) {
  return splitting(
      [is](std::string_view text, std::vector<Part>& found) {
        found.clear();
        for (std::size_t at = 0; at < text.size();) {
          const std::size_t first = at;
          if (is(unicode::next(text, at))) found.emplace_back(first, at);
        }
      },
      behavior);
}

PreTokenizer all_of(std::vector<PreTokenizer> parts) {
  return [parts = std::move(parts)](std::vector<Word>& words) {
    for (const PreTokenizer& part : parts) part(words);
  };
}

PreTokenizer byte_level(const Component& component) {
  std::vector<PreTokenizer> parts;
  if (component.flag("add_prefix_space", true))
    parts.emplace_back([](std::vector<Word>& words) {
      for (Word& word : words)
        if (!word.text.starts_with(' ')) word.text.insert(0, 1, ' ');
    });
  if (component.flag("use_regex", true))
    parts.push_back(by_pattern(ByteLevel::kWords, Behavior::isolated));
  parts.emplace_back([bytes = ByteLevel()](std::vector<Word>& words) {
    for (Word& word : words) word.text = bytes.encoded(word.text);
  });
  return all_of(std::move(parts));
}

PreTokenizer metaspace(const Component& component) {
  const std::string space = component.text("replacement");
  const std::string scheme = component.text(
      "prepend_scheme", component.flag("add_prefix_space", true) ? "always" : "never");
  if (scheme != "always" && scheme != "first" && scheme != "never")
    component.refuse(fmt::format("the prepend_scheme \"{}\" is not supported", scheme));
  PreTokenizer marks = [space, scheme](std::vector<Word>& words) {
    for (Word& word : words) {
      std::string text;
      for (const char c : word.text) c == ' ' ? text.append(space) : text.append(1, c);
      const bool prepends = scheme == "always" || (scheme == "first" && word.is_first);
      word.text = prepends && !text.starts_with(space) ? space + text : text;
    }
  };
  if (!component.flag("split", true)) return marks;
  return all_of({std::move(marks), by_pattern(escaped(space), Behavior::merged_with_next)});
}

}  // namespace

PreTokenizer make_pre_tokenizer(const Component& component) {
  const std::string type = component.type();
  if (type == "Sequence") {
    std::vector<PreTokenizer> parts;
    for (const Component& part : component.children("pretokenizers"))
      parts.push_back(make_pre_tokenizer(part));
    return all_of(std::move(parts));
  }
  if (type == "ByteLevel") return byte_level(component);
  if (type == "Metaspace") return metaspace(component);
  if (type == "Split")
    return by_pattern(component.pattern(), behavior_of(component, ""),
                      component.flag("invert", false));
  if (type == "Whitespace")
    return by_pattern(fmt::format("[{0}]+|[^{0}\\s]+", kRustWord), Behavior::removed, true);
  if (type == "WhitespaceSplit") return by_class(unicode::is_white_space, Behavior::removed);
  if (type == "BertPreTokenizer")
    return all_of({by_class(unicode::is_white_space, Behavior::removed),
                   by_class(unicode::is_punctuation, Behavior::isolated)});
  if (type == "Punctuation")
    return by_class(unicode::is_punctuation, behavior_of(component, "Isolated"));
  if (type == "Digits")
    return by_class(unicode::is_number, component.flag("individual_digits", false)
                                            ? Behavior::isolated
                                            : Behavior::contiguous);
  if (type == "CharDelimiterSplit")
    return by_pattern(escaped(component.text("delimiter")), Behavior::removed);
  component.refuse_type();
}

}  // namespace ds
