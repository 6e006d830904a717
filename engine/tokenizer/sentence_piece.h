// SentencePieceModel: what a SentencePiece .model file says, read from its protobuf.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ds {

struct SentencePieceModel {
  /// Values are those of the file (sentencepiece_model.proto, ModelProto.SentencePiece.Type).
  enum class Kind { normal = 1, unknown, control, user_defined, unused, byte };
  /// TrainerSpec.ModelType.
  enum class Algorithm { unigram = 1, bpe, word, character };
  struct Piece {
    std::string text{};
    float score = 0;
    Kind kind = Kind::normal;
  };

  std::vector<Piece> pieces{};
  Algorithm algorithm = Algorithm::unigram;
  std::string charsmap{};  // see CharsMap; empty: characters stay as they are
};

/// Errors: Error{config} naming `path` and the byte or the piece: the bytes are not such a file, it
/// is cut, or pieces are empty, twice there, or not UTF-8.
SentencePieceModel read_sentence_piece(std::string_view bytes, const std::string& path);

}  // namespace ds
