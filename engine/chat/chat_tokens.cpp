#include "engine/chat/chat_tokens.h"

#include <string_view>
#include <utility>

namespace ds {

ChatTokens tokens_of(std::span<const ChatPiece> pieces, const Tokenizer& tokenizer) {
  std::vector<std::string_view> texts;
  for (const ChatPiece& piece : pieces) texts.emplace_back(piece.text);
  EncodedPieces encoded = tokenizer.encode_pieces(texts);
  ChatTokens result{.tokens = std::move(encoded.tokens), .trained = {}};
  result.trained.resize(result.tokens.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!pieces[i].trained) continue;
    for (std::size_t token = encoded.begins[i].ended; token < encoded.begins[i + 1].begun; ++token)
      result.trained[token] = true;
  }
  return result;
}

std::optional<std::int32_t> end_token_of(const ChatTemplate& chat, const Tokenizer& tokenizer) {
  return chat.end_token.empty() ? std::nullopt : tokenizer.number_of(filled(chat, chat.end_token));
}

}  // namespace ds
