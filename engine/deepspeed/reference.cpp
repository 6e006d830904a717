// Writes docs/deepspeed.md from the table.
#include <fmt/format.h>

#include "engine/deepspeed/keys.h"

namespace ds {
namespace {

constexpr std::string_view kHead = R"(# DeepSpeed's JSON

To train with a DeepSpeed configuration, name it in `train.toml`, beside the model, the data and the number of steps, which it does not contain:

    deepspeed = "ds_config.json"

    [model]
    preset = "gpt2-124m"

    [data]
    train = ["text/*.txt"]
    seq_len = 1024

    [train]
    steps = 1000

To see what it means, or to continue without it, convert it:

    dslaunch convert ds_config.json > train.toml

Every line of the result names the key that it is from; what was passed over follows with the reason. `--hidden N` gives the width of the model, on which some values "auto" depend, and `--json`
prints JSON. A file that cannot be converted is refused with all reasons at once, exit code 65.

- **Form.** Comments (`//`, `#`, `/* */`), commas behind the last element, and 5e8 for integers are accepted. A key that this page does not have is an error, because DeepSpeed ignores some of them
  in silence.
- **"auto"** becomes what Hugging Face's Trainer would insert, with `train.toml` in the place of its arguments: the key of `train.toml` if it is given, else the default of `TrainingArguments`.
- **Both files.** A key that both files give must have the same value in both; every difference is listed. What the JSON does not say, `train.toml` may. Overrides on the command line count more
  than both.
- **Defaults.** Where the JSON is silent and DeepSpeed's default differs from dslaunch's, DeepSpeed's is used, unless `train.toml` gives the key. Two defaults changed in June 2026, and `convert` writes
  them out: gradients are clipped to a norm of 1.0 (`gradient_clipping`), and bf16 skips steps whose gradients are not finite (`bf16.check_grad_overflow`).
- **Batch.** `train_batch_size` is micro * accum * ranks. A JSON that gives all three fits one number of ranks; another number is refused.

This page is generated from the tables in `engine/deepspeed/keys_*.cpp`; a test compares the two. The keys are those that DeepSpeed 0.19.8 reads, and some of earlier releases.

)";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '*') result += '\\';
    result += c;
  }
  return result;
}

struct Part {
  DsFate fate;
  std::string_view title, text, columns;
};
constexpr Part kParts[] = {
    {DsFate::mapped, "Mapped", "These keys become keys of `train.toml` ([config.md](config.md)).",
     "| DeepSpeed | train.toml | how |\n|---|---|---|\n"},
    {DsFate::always, "Always so", "dslaunch does this in any case; the key is passed over.",
     "| DeepSpeed | here |\n|---|---|\n"},
    {DsFate::no_matter, "No matter here",
     "These keys have no effect on the results of dslaunch; they are passed over.",
     "| DeepSpeed | why |\n|---|---|\n"},
    {DsFate::refused, "Refused",
     "These keys change results in a way that dslaunch does not have. They are accepted where they "
     "ask for nothing.",
     "| DeepSpeed | asks for nothing | why, and what to do |\n|---|---|---|\n"},
};

std::string harmless_cell(const DsKey& key) {
  if (key.harmless == "@off") return "`enabled` missing or false";
  if (key.harmless.starts_with('@'))
    return fmt::format("`{}` missing, 0 or 1", key.harmless.substr(1));
  return key.harmless.empty() ? "" : fmt::format("`{}`", escaped(key.harmless));
}

std::string row(const DsKey& key) {
  std::string name = fmt::format("`{}`", key.path);
  if (!key.parts.empty()) {
    name += " with";
    std::string_view rest = key.parts;
    while (!rest.empty()) {
      const std::size_t end = rest.find(' ');
      name += fmt::format(" `{}`", rest.substr(0, end));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
  }
  if (key.fate == DsFate::mapped)
    return fmt::format("| {} | `{}` | {} |\n", name, key.toml, escaped(key.text));
  if (key.fate == DsFate::refused)
    return fmt::format("| {} | {} | {} |\n", name, harmless_cell(key), escaped(key.text));
  return fmt::format("| {} | {} |\n", name, escaped(key.text));
}

}  // namespace

std::string deepspeed_reference() {
  std::string page(kHead);
  for (const Part& part : kParts) {
    page += fmt::format("{}## {}\n\n{}\n\n{}", part.fate == DsFate::mapped ? "" : "\n", part.title,
                        part.text, part.columns);
    for (const DsKey& key : ds_keys())
      if (key.fate == part.fate) page += row(key);
  }
  return page;
}

}  // namespace ds
