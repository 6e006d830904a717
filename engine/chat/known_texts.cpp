#include "engine/chat/known_texts.h"

#include <array>
#include <string_view>

namespace ds {
namespace {

/// Printed by `make_chat_fixture.py hashes`, which also compares what each text writes.
constexpr std::array<KnownChatText, 27> kKnown = {{
    {"d327b7fa3d86758411d5816da1ba3080", "alpaca"},
    {"a344e8c84fb0282dda206a9e46a4ac01", "chatml"},
    {"577a7fce73f72e1ee2be9fd6966bb5eb", "chatml"},
    {"f0a6a8278439fdb056191e205a440263", "chatml"},
    {"cc9ddd5a40bc1c0c8fb5d937b1e8f5d0", "chatml"},
    {"650a224c70ea8e2795236ee761b6c691", "chatml"},
    {"4adb1f81f5c508ea24f6d97f87d647f5", "llama2"},
    {"09facc0e4aa943189799ad6e2dea0594", "llama3"},
    {"532eb21cf48abd2694713d122b6c7113", "llama3"},
    {"9ddcd6cd71f96dd76ca7779b7730196a", "llama3.1"},
    {"573e1bcc8c56f178c3d57e38f5ff0756", "llama3.2"},
    {"70bf874ad98f31f4b7f52373b11c60d7", "mistral-v0.1-2023"},
    {"f395fc5daa794129a5d004210ebce758", "mistral-v0.2-2023"},
    {"6aef58edf0d62df9f89cfc57f651ff3d", "mistral-v1"},
    {"df3ebcd92fa9a63fc6614466504d495b", "mistral-v3"},
    {"e580c2da83415028d5d943bd0bd9082f", "qwen2"},
    {"7c4c17cbc95b1d56c79034a9d5f0ae58", "qwen2"},
    {"0fe61c920a9d3925c31e98db8c19d1d3", "qwen2"},
    {"e392aa06018503fd2469c9508f79506e", "qwen2.5"},
    {"bf4790988fe77f85e44712543961e79d", "qwen2.5"},
    {"0fab82ce8f4d5175c9e0155c80737cf2", "qwen3"},
    {"4457e3d12b367a860283f874ff58d644", "qwen3"},
    {"a47abe7ce632ea1b81aa0a9f3b5fe3a7", "qwen3-training"},
    {"f0323af61a5d6e2383059ddcb62b07a0", "smollm2"},
    {"98f63cc3d421d28f99ab995e9629dacd", "smollm2"},
    {"5c929235d1675dbfd9fe74edcb57aa82", "zephyr"},
    {"5ae4edc1a6c08aa61db34e9fc60441d8", "zephyr"},
}};

/// A mark of a template, in the order in which they are looked for.
struct Mark {
  std::string_view text, name;
};
constexpr std::array<Mark, 11> kMarks = {{
    {"last_query_index", "qwen3"},
    {"You are Qwen", "qwen2.5"},
    {"named SmolLM", "smollm2"},
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
