// build_t5(): T5 1.0 and 1.1: an encoder and a decoder in one program, RMS norm before each branch,
// relative positions, cross-attention. Raffel et al. 2019, arXiv:1910.10683; 1.1: Shazeer 2020,
// arXiv:2002.05202. Flan-T5 (Chung et al. 2022, arXiv:2210.11416) is 1.1 with other weights.
#pragma once

#include "engine/config/train_config.h"
#include "engine/models/model_shape.h"
#include "engine/program/program.h"

namespace ds {

/// Returns the forward pass of one micro-batch: `tokens` are the decoder's inputs, shifted to the
/// right, and encoder_tokens those of the encoder. Groups "embed" (the embedding and the biases of
/// both stacks), "encoder.block0".., "encoder.final", "decoder.block0".., "decoder.final", and
/// "head" unless it is tied; ends with head_loss. Initial values as in Hugging Face's T5 with the
/// factor 1. Dropout as there: after the embedding of each stack, attention's probabilities, all
/// branches of a block, the feed-forward layer's activation, and the last norms. In fp16, sums of
/// branches stay finite (Activation::finite). Tensors have Hugging Face's names; weights of linear
/// layers are (inputs, outputs), the transpose of Hugging Face's:
///   STACK.block.I.layer.0.SelfAttention.qkv.weight     (C, 3HD)  columns of q, k, v
///   decoder.block.I.layer.1.EncDecAttention.kv.weight  (C, 2HD)  columns of k, v
///   STACK.block.I.layer.N.DenseReluDense.wi.weight     (C, 2F)   columns of wi_0, wi_1 (gated)
Program build_t5(const ModelConfig& config, const ModelShape& shape);

}  // namespace ds
