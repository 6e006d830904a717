// read_tokenizer(): one row for each class of transformers.
#include "engine/tokenizer/converted.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/text_error.h"
#include "engine/tokenizer/converters.h"
#include "engine/tokenizer/folder_files.h"

namespace ds {
namespace {

using Json = nlohmann::json;

/// The files that make a folder one with a tokenizer.
constexpr std::array kFiles{"tokenizer.json", "vocab.json",   "merges.txt",
                            "vocab.txt",      "spiece.model", "tokenizer.model"};

using Convert = Json (*)(const ConverterInput&);

/// `names`: of tokenizer_config.json's tokenizer_class, without "Fast". `models`: of config.json's
/// model_type, which decides where vocab.json and merges.txt come without a class.
struct Class {
  std::vector<std::string> names, models;
  Convert convert;
};

const std::array<Class, 6>& classes() {
  static const std::array<Class, 6> kClasses{{
      {{"GPT2Tokenizer"}, {}, convert_gpt2},
      {{"RobertaTokenizer", "BartTokenizer", "LongformerTokenizer", "LEDTokenizer"},
       {"roberta", "bart", "longformer", "led"},
       convert_roberta},
      {{"Qwen2Tokenizer"}, {"qwen2", "qwen2_moe", "qwen3", "qwen3_moe"}, convert_qwen2},
      {{"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer"},
       {},
       convert_bert},
      {{"T5Tokenizer"}, {}, convert_t5},
      {{"LlamaTokenizer"}, {}, convert_llama},
  }};
  return kClasses;
}

std::string text_in(const Json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// Returns the converter of the class with this name; null if there is none.
Convert named(const std::string& name, std::vector<std::string> Class::*names) {
  const auto found = std::ranges::find_if(classes(), [&](const Class& each) {
    return std::ranges::find(each.*names, name) != (each.*names).end();
  });
  return found == classes().end() ? nullptr : found->convert;
}

/// Returns the converter of the class in tokenizer_config.json; null if it names none.
Convert by_class(const FolderFiles& files, const Json& config) {
  std::string name = text_in(config, "tokenizer_class");
  if (name.empty()) return nullptr;
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  if (const Convert convert = named(name, &Class::names)) return convert;
  throw Error(
      ErrorKind::config,
      fmt::format("{}: the tokenizer_class \"{}\" is not supported without a tokenizer.json",
                  files.path_of("tokenizer_config.json"), printable_text(name, 100)),
      "save the tokenizer once more with a current transformers, which writes it");
}

/// Returns the converter for what a folder has, or for the file that a path names.
Convert by_files(FolderFiles& files, const std::string& only) {
  const auto has = [&](const char* name) { return only.empty() ? files.has(name) : only == name; };
  if (has("vocab.json") || has("merges.txt")) {
    const Convert convert =
        named(text_in(files.object("config.json"), "model_type"), &Class::models);
    return convert != nullptr ? convert : convert_gpt2;
  }
  if (has("vocab.txt") || only.ends_with(".txt")) return convert_bert;
  if (has("spiece.model") || has("tokenizer.model") || only.ends_with(".model"))
    return convert_sentence_piece;
  throw Error(ErrorKind::config,
              fmt::format("{}: there is no such file, and no other of a tokenizer",
                          files.path_of("tokenizer.json")),
              "name a folder with tokenizer.json, vocab.json and merges.txt, vocab.txt, "
              "spiece.model, or tokenizer.model");
}

/// `only`: the file that the path names; empty for a folder.
TokenizerText converted(FolderFiles files, const std::string& folder, const std::string& only) {
  const Json config = files.object("tokenizer_config.json");
  Convert convert = by_class(files, config);
  if (convert == nullptr) convert = by_files(files, only);
  const bool is_pair = only == "vocab.json" || only == "merges.txt";
  TokenizerText text{.place = folder};
  text.json = convert({.files = files, .config = config, .name = is_pair ? "" : only});
  text.hash = files.hash();
  return text;
}

}  // namespace

bool has_tokenizer(const std::string& folder) {
  const FolderFiles files(folder);
  return std::ranges::any_of(kFiles, [&](const char* name) { return files.has(name); });
}

TokenizerText read_tokenizer(const std::string& path) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  const std::filesystem::path file(path);
  const std::string name = is_folder ? std::string() : file.filename().string();
  FolderFiles files(is_folder ? path : file.parent_path().string());
  const bool is_vocabulary =
      name == "vocab.json" || name.ends_with(".txt") || name.ends_with(".model");
  if (is_vocabulary || (is_folder && !files.has("tokenizer.json")))
    return converted(files, path, name);
  const std::string json = is_folder ? "tokenizer.json" : name;
  TokenizerText text{.place = files.path_of(json)};
  text.json = json_object(files.text(json), text.place);
  text.hash = files.hash();
  return text;
}

}  // namespace ds
