// The parts of a tokenizer.json for each class of tokenizers of transformers 5.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/tokenizer/folder_files.h"

namespace ds {

struct ConverterInput {
  FolderFiles& files;
  const nlohmann::json& config;  // tokenizer_config.json
  std::string name;              // of the file with the vocabulary; empty: the usual one
};

/// Return a tokenizer.json as transformers makes it of files: of vocab.json and merges.txt, of
/// vocab.txt, or of spiece.model or tokenizer.model. Errors: as those of the readers, and
/// Error{config}: a key of the configuration, or the algorithm of the model, is not supported.
nlohmann::json convert_gpt2(const ConverterInput& input);
nlohmann::json convert_roberta(const ConverterInput& input);
nlohmann::json convert_qwen2(const ConverterInput& input);
nlohmann::json convert_bert(const ConverterInput& input);
nlohmann::json convert_t5(const ConverterInput& input);
nlohmann::json convert_llama(const ConverterInput& input);
/// Converts a file of a class that is not known: as T5's if it is a Unigram model, else as Llama's.
nlohmann::json convert_sentence_piece(const ConverterInput& input);

}  // namespace ds
