#include "engine/base/rank_message.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/whole_number.h"

namespace ds {
namespace {

// The field list of each message, in the order of the text. A line comes last.
void fields(auto& a, StepDone& m) {
  a("step", m.step), a("steps", m.steps), a("micros", m.micros), a("kept", m.kept);
}
void fields(auto& a, PhaseBegun& m) { a("name", m.name); }
void fields(auto& a, CheckpointTold& m) { a.line("line", m.line); }
void fields(auto& a, FactsTold& m) { a.line("line", m.line); }
void fields(auto& a, KeepFile& m) { a("bytes", m.bytes), a("name", m.name); }
void fields(auto& a, DropFile& m) { a("name", m.name); }
void fields(auto&, DropEarlier&) {}
void fields(auto& a, AskKept& m) { a("id", m.id); }
void fields(auto& a, FileHeld& m) { a("name", m.name); }
void fields(auto& a, FileRefused& m) { a("name", m.name), a.line("why", m.why); }
void fields(auto& a, FileKept& m) { a("id", m.id), a("bytes", m.bytes), a("name", m.name); }
void fields(auto& a, KeptEnd& m) { a("id", m.id), a("files", m.files); }
void fields(auto&, SaveOrder&) {}
void fields(auto&, PauseOrder&) {}

/// The first word of each message, in the order of RankMessage.
constexpr std::array<std::string_view, 14> kFirstWords = {
    "step",  "phase", "checkpoint", "facts", "keep",     "drop", "drop_earlier",
    "kept?", "held",  "not_held",   "kept",  "kept_end", "save", "pause"};
static_assert(kFirstWords.size() == std::variant_size_v<RankMessage>);

bool is_control_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F;
}

class TextWriter {
 public:
  explicit TextWriter(std::string& out) : out_(out) {}
  void operator()(std::string_view /*name*/, std::int64_t number) {
    (out_ += ' ') += std::to_string(number);
  }
  void operator()(std::string_view /*name*/, const std::string& word) { (out_ += ' ') += word; }
  void line(std::string_view /*name*/, const std::string& text) {
    out_ += ' ';
    out_ += std::string_view(text).substr(0, kMaxRankMessage - out_.size());
    std::ranges::replace_if(out_, is_control_byte, '?');
  }

 private:
  std::string& out_;
};

class TextReader {
 public:
  explicit TextReader(std::string_view rest) : rest_(rest) {}
  void operator()(std::string_view /*name*/, std::int64_t& number) {
    const auto read = whole_number<std::int64_t>(next());
    good_ = good_ && read;
    number = read.value_or(0);
  }
  void operator()(std::string_view /*name*/, std::string& word) {
    word = next();
    good_ = good_ && is_kept_name(word);
  }
  void line(std::string_view /*name*/, std::string& text) {
    good_ = good_ && rest_.starts_with(' ');
    if (good_) text = std::exchange(rest_, {}).substr(1);
  }
  [[nodiscard]] bool complete() const { return good_ && rest_.empty(); }

 private:
  std::string_view next() {
    good_ = good_ && rest_.starts_with(' ');
    if (!good_) return {};
    rest_.remove_prefix(1);
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return word;
  }

  std::string_view rest_;
  bool good_ = true;
};

class FieldNames {
 public:
  explicit FieldNames(std::string& out) : out_(out) {}
  void operator()(std::string_view name, std::int64_t& /*number*/) { add("number", name); }
  void operator()(std::string_view name, std::string& /*word*/) { add("word", name); }
  void line(std::string_view name, std::string& /*text*/) { add("rest", name); }

 private:
  void add(std::string_view type, std::string_view name) {
    ((out_ += out_.ends_with(':') ? " " : ", ") += type) += ' ';
    out_ += name;
  }
  std::string& out_;
};

/// Makes the alternative of RankMessage whose first word is `word`.
template <std::size_t I = 0>
std::optional<RankMessage> empty_rank_message(std::string_view word) {
  if constexpr (I == std::variant_size_v<RankMessage>) {
    return std::nullopt;
  } else {
    if (kFirstWords[I] == word) return RankMessage(std::in_place_index<I>);
    return empty_rank_message<I + 1>(word);
  }
}

}  // namespace

bool is_kept_name(std::string_view name) {
  constexpr std::string_view kMarks = "-_./:+";
  return !name.empty() && name.size() <= kMaxKeptName && std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

void encode(const RankMessage& message, std::string& out) {
  out = kFirstWords[message.index()];
  TextWriter writer(out);
  // Field lists take mutable structs because the reader needs them; the writer changes nothing.
  std::visit([&](auto copy) { fields(writer, copy); }, message);
}

std::string encode(const RankMessage& message) {
  std::string text;
  encode(message, text);
  return text;
}

std::optional<RankMessage> parse_rank_message(std::string_view text) {
  if (text.size() > kMaxRankMessage) return std::nullopt;
  const std::size_t end = std::min(text.find(' '), text.size());
  std::optional<RankMessage> message = empty_rank_message(text.substr(0, end));
  if (!message) return std::nullopt;
  TextReader reader(text.substr(end));
  std::visit([&](auto& m) { fields(reader, m); }, *message);
  // The second condition refuses other spellings of a number, and control bytes.
  if (!reader.complete() || encode(*message) != text) return std::nullopt;
  return message;
}

std::string describe_rank_messages() {
  std::string text;
  const auto describe = [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
    const auto add = [&](std::string_view word, auto message) {
      std::string row = std::string(word) + ':';
      FieldNames names(row);
      fields(names, message);
      text += row + '\n';
    };
    (add(kFirstWords[I], std::variant_alternative_t<I, RankMessage>()), ...);
  };
  describe(std::make_index_sequence<std::variant_size_v<RankMessage>>());
  return text;
}

}  // namespace ds
