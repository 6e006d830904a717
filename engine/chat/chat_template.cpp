#include "engine/chat/chat_template.h"

#include <algorithm>
#include <utility>

namespace ds {
namespace {

/// Qwen's models and many others. TRL trains the line end behind the end token too.
ChatTemplate chat_ml() {
  return {.name = "chatml",
          .system = {"<|im_start|>system\n", "<|im_end|>\n"},
          .user = {"<|im_start|>user\n", "<|im_end|>\n"},
          .assistant = {"<|im_start|>assistant\n", "<|im_end|>\n"},
          .end_token = "<|im_end|>",
          .eos = "<|im_end|>"};
}

ChatTemplate smol_lm2() {
  ChatTemplate chat = chat_ml();
  chat.name = "smollm2";
  chat.default_system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
  return chat;
}

ChatTemplate qwen2() {
  ChatTemplate chat = chat_ml();
  chat.name = "qwen2";
  chat.default_system = "You are a helpful assistant.";
  // TRL's template for training counts the line end behind the role as a part of the answer.
  chat.assistant.prefix = "<|im_start|>assistant";
  chat.before_answer = "\n";
  return chat;
}

ChatTemplate qwen2_5() {
  ChatTemplate chat = qwen2();
  chat.name = "qwen2.5";
  chat.default_system = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";
  return chat;
}

ChatTemplate qwen3(const std::string& name, Thinking thinking) {
  ChatTemplate chat = chat_ml();
  chat.name = name;
  chat.thinking = thinking;
  return chat;
}

/// The prompt has an empty thought, as in transformers with enable_thinking=False.
ChatTemplate qwen3_without_thinking() {
  ChatTemplate chat = qwen3("qwen3-nothink", Thinking::last_answers);
  chat.prompt = "<|im_start|>assistant\n<think>\n\n</think>\n\n";
  return chat;
}

ChatTemplate llama2() {
  return {.name = "llama2",
          .system = {"<<SYS>>\n", "\n<</SYS>>\n\n"},
          .user = {"{bos}[INST] ", " [/INST]"},
          .assistant = {"", " {eos}"},
          .before_answer = " ",
          .prompt = "",
          .system_place = SystemPlace::first_user,
          .trims_user = true,
          .trims_answer = true,
          .alternates = true,
          .end_token = "{eos}",
          .bos = "<s>",
          .eos = "</s>"};
}

ChatTemplate llama3() {
  const std::string end = "<|eot_id|>";
  return {.name = "llama3",
          .begin = "{bos}",
          .system = {"<|start_header_id|>system<|end_header_id|>\n\n", end},
          .user = {"<|start_header_id|>user<|end_header_id|>\n\n", end},
          .assistant = {"<|start_header_id|>assistant<|end_header_id|>\n\n", end},
          .trims_system = true,
          .trims_user = true,
          .trims_answer = true,
          .end_token = end,
          .bos = "<|begin_of_text|>",
          .eos = end};
}

/// The template of 3.2 differs from that of 3.1 in the date alone: it takes today's. Training must
/// not depend on the day, so both have the date of 3.1 here.
ChatTemplate llama3_1(const std::string& name) {
  ChatTemplate chat = llama3();
  chat.name = name;
  chat.default_system = "";
  chat.system_intro = "Cutting Knowledge Date: December 2023\nToday Date: {date}\n\n";
  return chat;
}

/// The texts of Mistral-7B-Instruct-v0.1 and v0.2 in 2023. That of v0.1 has a blank after an
/// answer.
ChatTemplate mistral_of_2023(const std::string& name, const std::string& after_answer) {
  return {.name = name,
          .begin = "{bos}",
          .user = {"[INST] ", " [/INST]"},
          .assistant = {"", "{eos}"},
          .after_answer = after_answer,
          .prompt = "",
          .system_place = SystemPlace::refused,
          .alternates = true,
          .end_token = "{eos}",
          .bos = "<s>",
          .eos = "</s>"};
}

/// The text of Mistral-7B-Instruct-v0.1 and v0.2 since 2024 (the first version of the tokenizer).
ChatTemplate mistral_v1() {
  ChatTemplate chat = mistral_of_2023("mistral-v1", "");
  chat.system = {"", "\n\n"};
  chat.user = {" [INST] ", " [/INST]"};
  chat.before_answer = " ";
  chat.system_place = SystemPlace::first_user;
  return chat;
}

/// The text of Mistral-7B-Instruct-v0.3 (the third version of the tokenizer).
ChatTemplate mistral_v3() {
  ChatTemplate chat = mistral_v1();
  chat.name = "mistral-v3";
  chat.user = {"[INST] ", "[/INST]"};
  chat.system_place = SystemPlace::last_user;
  chat.trims_answer = true;
  return chat;
}

ChatTemplate zephyr() {
  return {.name = "zephyr",
          .system = {"<|system|>\n", "{eos}\n"},
          .user = {"<|user|>\n", "{eos}\n"},
          .assistant = {"<|assistant|>\n", "{eos}"},
          .after_answer = "\n",
          .end_token = "{eos}",
          .bos = "<s>",
          .eos = "</s>"};
}

/// Stanford Alpaca's words, with a line end behind the last as LLaMA-Factory writes it.
ChatTemplate alpaca() {
  return {.name = "alpaca",
          .begin = "{bos}",
          .system = {"", "\n\n"},
          .user = {"### Instruction:\n", "\n\n### Response:\n"},
          .assistant = {"", "{eos}"},
          .after_answer = "\n\n",
          .prompt = "",
          .default_system =
              "Below is an instruction that describes a task. Write a response that "
              "appropriately completes the request.",
          .alternates = true,
          .end_token = "{eos}",
          .bos = "<s>",
          .eos = "</s>"};
}

const std::vector<ChatTemplate>& table() {
  static const std::vector<ChatTemplate> kTable = {
      chat_ml(),
      smol_lm2(),
      qwen2(),
      qwen2_5(),
      qwen3("qwen3", Thinking::last_answers),
      qwen3_without_thinking(),
      qwen3("qwen3-training", Thinking::every_answer),
      llama2(),
      llama3(),
      llama3_1("llama3.1"),
      llama3_1("llama3.2"),
      mistral_of_2023("mistral-v0.1-2023", " "),
      mistral_of_2023("mistral-v0.2-2023", ""),
      mistral_v1(),
      mistral_v3(),
      zephyr(),
      alpaca(),
  };
  return kTable;
}

}  // namespace

const ChatTemplate* chat_template_named(std::string_view name) {
  const auto found = std::ranges::find(table(), name, &ChatTemplate::name);
  return found == table().end() ? nullptr : &*found;
}

std::vector<std::string> chat_template_names() {
  std::vector<std::string> names;
  for (const ChatTemplate& chat : table()) names.push_back(chat.name);
  return names;
}

std::string filled(const ChatTemplate& chat, std::string_view text) {
  const std::pair<std::string_view, std::string_view> kNames[] = {
      {"{bos}", chat.bos}, {"{eos}", chat.eos}, {"{date}", chat.date}};
  std::string out;
  while (!text.empty()) {
    const auto* const mark = std::ranges::find_if(
        kNames, [&](const auto& each) { return text.starts_with(each.first); });
    if (mark == std::end(kNames)) {
      out += text[0];
      text.remove_prefix(1);
    } else {
      out += mark->second;
      text.remove_prefix(mark->first.size());
    }
  }
  return out;
}

}  // namespace ds
