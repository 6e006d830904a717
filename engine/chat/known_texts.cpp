#include "engine/chat/known_texts.h"

#include <array>
#include <string_view>

namespace ds {
namespace {

/// Printed by `make_chat_fixture.py hashes`, which also compares what each text writes.
constexpr std::array<KnownChatText, 1> kKnown = {{
    {"", ""},
}};

/// A mark of a template, in the order in which they are looked for.
struct Mark {
  std::string_view text, name;
};
constexpr std::array<Mark, 10> kMarks = {{
    {"last_query_index", "qwen3"},
    {"You are Qwen", "qwen2.5"},
    {"<|im_start|>", "chatml"},
    {"Cutting Knowledge Date", "llama3.1"},
    {"<|start_header_id|>", "llama3"},
    {"<<SYS>>", "llama2"},
    {"[AVAILABLE_TOOLS]", "mistral-v3"},
    {"[INST]", "mistral-v1"},
    {"### Instruction", "alpaca"},
    {"<|assistant|>", "zephyr"},
}};

}  // namespace

std::span<const KnownChatText> known_chat_texts() { return kKnown; }

std::string_view likely_chat_template(std::string_view jinja) {
  for (const Mark& mark : kMarks)
    if (jinja.find(mark.text) != std::string_view::npos) return mark.name;
  return {};
}

}  // namespace ds
