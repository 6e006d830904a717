// build_bert(): BERT and RoBERTa with their heads for masked tokens: learned positions, token
// types, a norm after each branch, attention to both sides. Devlin et al. 2018, arXiv:1810.04805;
// Liu et al. 2019, arXiv:1907.11692. The members differ by the traits in
// engine/config/bert_family.h.
#pragma once

#include "engine/config/train_config.h"
#include "engine/models/model_shape.h"
#include "engine/program/program.h"

namespace ds {

/// Returns the forward pass of one micro-batch: groups "embed" (the tables and their norm),
/// "block0".., "head" (a linear layer, a norm and the bias of the logits, whose weights are the
/// embedding); ends with head_loss. Initial values as in Hugging Face's models: N(0, 0.02), norms
/// 1, biases 0; but the embedding of the padding token is not 0. Dropout as there: after the
/// embeddings' norm, attention's probabilities, both branches of a block. Tensors have Hugging
/// Face's names without the prefix of the encoder; weights of linear layers are (inputs, outputs),
/// the transpose of Hugging Face's:
///   encoder.layer.I.attention.self.qkv.weight  (C, 3C)  columns of query, key, value
///   encoder.layer.I.attention.self.qkv.bias    (3C)
Program build_bert(const ModelConfig& config, const ModelShape& shape);

}  // namespace ds
