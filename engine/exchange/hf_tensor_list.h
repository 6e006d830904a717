// HfTensorList: collects the tensors of a Hugging Face folder, family by family.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/config/bert_family.h"
#include "engine/exchange/hf_tensors.h"

namespace ds {

class HfTensorList {
 public:
  explicit HfTensorList(std::string prefix) : prefix_(std::move(prefix)) {}

  /// Adds a vector that is the first `elements` of our `our_elements`.
  void first_of(const std::string& name, const std::string& theirs, std::int64_t our_elements,
                std::int64_t elements) {
    add({.name = theirs,
         .ours = name,
         .shape = {elements},
         .our_columns = our_elements,
         .columns = elements});
  }
  void vector(const std::string& name, std::int64_t elements) {
    first_of(name, prefix_ + name, elements, elements);
  }

  /// Adds a tensor whose rows are the first `rows` of our `our_rows`.
  void rows_of(const std::string& name, const std::string& theirs, std::int64_t our_rows,
               std::int64_t rows, std::int64_t columns) {
    add({.name = theirs,
         .ours = name,
         .shape = {rows, columns},
         .our_rows = our_rows,
         .our_columns = columns,
         .rows = rows,
         .columns = columns});
  }
  void matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
    rows_of(name, prefix_ + name, rows, rows, columns);
  }

  /// Columns of our tensor that are an (outputs, inputs) tensor of the folder.
  struct Part {
    std::string name;
    std::int64_t columns;
  };
  void transposed(const std::string& name, std::int64_t inputs, const std::vector<Part>& parts) {
    std::int64_t all = 0, first = 0;
    for (const Part& part : parts) all += part.columns;
    for (const Part& part : parts) {
      add({.name = prefix_ + part.name,
           .ours = name,
           .shape = {part.columns, inputs},
           .our_rows = inputs,
           .our_columns = all,
           .rows = inputs,
           .first_column = first,
           .columns = part.columns,
           .transposed = true});
      first += part.columns;
    }
  }

  void vectors(const std::string& name, const std::vector<Part>& parts) {
    std::int64_t all = 0, first = 0;
    for (const Part& part : parts) all += part.columns;
    for (const Part& part : parts) {
      add({.name = prefix_ + part.name,
           .ours = name,
           .shape = {part.columns},
           .our_columns = all,
           .first_column = first,
           .columns = part.columns,
           .transposed = true});  // a row of ours, a column of theirs
      first += part.columns;
    }
  }

  [[nodiscard]] std::vector<HfTensor> take() { return std::move(tensors_); }

 private:
  void add(HfTensor tensor) { tensors_.push_back(std::move(tensor)); }

  std::string prefix_;
  std::vector<HfTensor> tensors_;
};

std::vector<HfTensor> bert_tensors(const ModelConfig& model, const BertFamily& family,
                                   std::int64_t vocab, std::int64_t positions);
std::vector<HfTensor> t5_tensors(const ModelConfig& model, std::int64_t vocab);

}  // namespace ds
