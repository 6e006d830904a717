// read_documents(): whole texts, the fields of lines of JSON, rows of Parquet.
#include "engine/packing/raw_reader.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/nearest_word.h"
#include "engine/base/text_error.h"
#include "engine/packing/line_reader.h"
#include "engine/packing/parquet_rows.h"
#include "engine/tokenizer/unicode.h"

namespace ds {
namespace {

using Json = nlohmann::json;

/// Returns the number of a \uXXXX escape at `at`; -1 if there is none.
int escape_at(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return -1;
  int number = 0;
  for (std::size_t i = at + 2; i < at + 6; ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    number = number * 16 + digit;
  }
  return number;
}

/// Returns the line with U+FFFD for what is not UTF-8 and for surrogates without their other half.
std::string repaired(std::string_view line) {
  std::string text = unicode::valid(line);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') continue;
    const int number = escape_at(text, at);
    const bool is_high = number >= 0xD800 && number < 0xDC00;
    const bool is_low = number >= 0xDC00 && number < 0xE000;
    const int after = is_high ? escape_at(text, at + 6) : -1;
    if (is_high && after >= 0xDC00 && after < 0xE000) {
      at += 11;
    } else if (is_high || is_low) {
      text.replace(at + 2, 4, "fffd");
      at += 5;
    } else {
      ++at;  // the escaped character
    }
  }
  return text;
}

/// The fields of one line; errors say where it is.
class LineFields {
 public:
  LineFields(std::string_view line, std::function<std::string()> place) : place_(std::move(place)) {
    json_ = Json::parse(line, nullptr, false);
    if (json_.is_discarded()) {
      try {
        json_ = Json::parse(repaired(line));
      } catch (const Json::parse_error& error) {
        refuse(fmt::format("{}: it is not JSON", error.byte), "each line is one JSON object");
      }
    }
    require_object();
  }

  [[nodiscard]] std::string text(const std::string& name) const {
    const Json& value = member(name);
    if (!value.is_string())
      refuse(fmt::format("1: the field \"{}\" is {}, not a text", printable_text(name, 100),
                         value.type_name()),
             "name another one with data.fields, or leave such lines out");
    return value.get<std::string>();
  }

  [[nodiscard]] std::vector<ChatMessage> messages(const std::string& name) const {
    const Json& list = member(name);
    std::vector<ChatMessage> messages;
    for (const Json& each : list) {
      const auto word = [&](const char* key) {
        const auto found = each.is_object() ? each.find(key) : each.end();
        return found != each.end() && found->is_string() ? found->get<std::string>()
                                                         : std::string();
      };
      // "from" and "value": ShareGPT's spelling.
      const bool is_other = each.is_object() && each.contains("from");
      std::string role = word(is_other ? "from" : "role");
      role = common_role(std::move(role));
      const char* const key = is_other ? "value" : "content";
      if (role.empty() || !each.contains(key))
        refuse(fmt::format("1: message {} of \"{}\" has no role or no content", messages.size() + 1,
                           printable_text(name, 100)),
               "a message is {\"role\": \"user\", \"content\": \"...\"}");
      // Null stands for no text, such as beside a tool's call.
      if (!each[key].is_string() && !each[key].is_null())
        refuse(fmt::format("1: message {} of \"{}\" has a {} that is {}, not a text",
                           messages.size() + 1, printable_text(name, 100), key,
                           each[key].type_name()),
               "write the texts of its parts as one, or leave such lines out");
      messages.push_back({std::move(role), word(key)});
    }
    if (messages.empty() || !list.is_array())
      refuse(fmt::format("1: the field \"{}\" has no messages", printable_text(name, 100)),
             "it is a list of messages with role and content");
    return messages;
  }

 private:
  [[noreturn]] void refuse(const std::string& what, std::string hint) const {
    throw Error(ErrorKind::config, fmt::format("{}:{}", place_(), what), std::move(hint));
  }
  void require_object() const {
    if (json_.is_object()) return;
    refuse(fmt::format("1: the line is {}, not an object", json_.type_name()),
           "each line is one JSON object");
  }
  [[nodiscard]] const Json& member(const std::string& name) const {
    const auto found = json_.find(name);
    if (found != json_.end()) return *found;
    std::vector<std::string> names;
    for (const auto& [key, value] : json_.items()) names.push_back(key);
    const std::vector<std::string_view> views(names.begin(), names.end());
    const std::string near = nearest_word(name, views);
    refuse(fmt::format("1: there is no field \"{}\"", printable_text(name, 100)),
           near.empty()
               ? fmt::format("the line has {}",
                             printable_text(fmt::format("{}", fmt::join(names, ", ")), 200))
               : fmt::format("did you mean \"{}\"? data.fields names what is read",
                             printable_text(near, 100)));
  }

  std::function<std::string()> place_;
  Json json_;
};

void read_lines(const RawRange& range, const DataConfig& config, const TakeDocument& take) {
  LineReader lines(range.path, range.begin, range.end);
  const std::function<std::string()> place = [&] {
    return fmt::format("{}:{}", range.path, lines.line_number());
  };
  std::string_view line;
  RawDocument document;
  while (lines.next(line)) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    const LineFields fields(line, place);
    document.texts.clear();
    document.messages.clear();
    if (config.task == DataTask::chat) {
      document.messages = fields.messages(config.json_fields.front());
    } else {
      for (const std::string& name : config.json_fields)
        document.texts.push_back(fields.text(name));
    }
    take(document, place);
  }
}

}  // namespace

void read_documents(const RawChunk& chunk, const DataConfig& config, const TakeDocument& take) {
  for (const RawRange& range : chunk.ranges) {
    if (config.format == "jsonl") {
      read_lines(range, config, take);
      continue;
    }
    if (config.format == "parquet") {
      read_parquet_rows(range, config, take);
      continue;
    }
    RawDocument document{.texts = {read_all(*open_bytes(range.path))}, .messages = {}};
    take(document, [&] { return range.path; });
  }
}

}  // namespace ds
