// read_sentence_piece(): the fields that tokenizers need; all others are passed over. Source of the
// numbers: sentencepiece_model.proto of SentencePiece 0.2, and protobuf's encoding.
#include "engine/tokenizer/sentence_piece.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <unordered_set>

#include "engine/base/error.h"
#include "engine/base/text_error.h"
#include "engine/tokenizer/unicode.h"

namespace ds {
namespace {

[[noreturn]] void refuse_model(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::config, fmt::format("{}: {}", path, why),
              "copy the file again; a tokenizer.model of tiktoken is not read, use tokenizer.json");
}

/// The fields of one message, in order.
class Message {
 public:
  struct Field {
    std::uint64_t number = 0;
    std::uint64_t value = 0;   // of a number
    std::string_view bytes{};  // of a text or a message
    std::size_t at = 0;        // where `bytes` are in the file
    bool is_bytes = false;
  };

  Message(std::string_view bytes, std::size_t at, const std::string& path)
      : bytes_(bytes), first_(at), path_(path) {}

  /// Returns the next field; nothing at the end.
  std::optional<Field> next() {
    if (at_ == bytes_.size()) return std::nullopt;
    const std::uint64_t tag = varint();
    Field field{.number = tag >> 3U};
    switch (tag & 7U) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.value = fixed(8);
        break;
      case 2:
        field.is_bytes = true;
        field.bytes = taken(varint());
        field.at = first_ + at_ - field.bytes.size();
        break;
      case 5:
        field.value = fixed(4);
        break;
      default:
        damaged();
    }
    if (field.number == 0) damaged();
    return field;
  }

 private:
  [[noreturn]] void damaged() const {
    refuse_model(
        path_, fmt::format("is not a SentencePiece model, or is cut: byte {} of it cannot be read",
                           first_ + at_));
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(taken(1)[0]);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    damaged();
  }

  std::uint64_t fixed(std::size_t size) {
    std::uint64_t value = 0;
    unsigned shift = 0;
    for (const char byte : taken(size)) {
      value |= std::uint64_t{static_cast<unsigned char>(byte)} << shift;
      shift += 8;
    }
    return value;
  }

  std::string_view taken(std::uint64_t size) {
    if (size > bytes_.size() - at_) damaged();
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

  std::string_view bytes_;
  std::size_t first_, at_ = 0;
  const std::string& path_;
};

SentencePieceModel::Piece piece_of(Message message, const std::string& place) {
  SentencePieceModel::Piece piece;
  while (const auto field = message.next()) {
    if (field->number == 1) piece.text = field->bytes;
    if (field->number == 2)
      piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
    if (field->number == 3) {
      if (field->value < 1 || field->value > 6)
        refuse_model(place, fmt::format("has the unknown type {}", field->value));
      piece.kind = static_cast<SentencePieceModel::Kind>(field->value);
    }
  }
  if (piece.text.empty()) refuse_model(place, "is empty");
  if (unicode::valid(piece.text) != piece.text) refuse_model(place, "is not UTF-8");
  if (!std::isfinite(piece.score)) refuse_model(place, "has a score that is not a number");
  return piece;
}

SentencePieceModel::Algorithm algorithm_of(Message message, const std::string& path) {
  auto algorithm = SentencePieceModel::Algorithm::unigram;
  while (const auto field = message.next()) {
    if (field->number != 3) continue;
    if (field->value < 1 || field->value > 4)
      refuse_model(path, fmt::format("has the unknown model_type {}", field->value));
    algorithm = static_cast<SentencePieceModel::Algorithm>(field->value);
  }
  return algorithm;
}

}  // namespace

SentencePieceModel read_sentence_piece(std::string_view bytes, const std::string& path) {
  SentencePieceModel model;
  std::unordered_set<std::string> seen;
  bool has_trainer = false, has_normalizer = false;
  Message file(bytes, 0, path);
  while (const auto field = file.next()) {
    if (!field->is_bytes) continue;
    Message inner(field->bytes, field->at, path);
    if (field->number == 1) {
      const std::string place = fmt::format("{}: piece {}", path, model.pieces.size());
      model.pieces.push_back(piece_of(inner, place));
      if (!seen.insert(model.pieces.back().text).second) {
        refuse_model(place, fmt::format("\"{}\" is there for the second time",
                                        printable_text(model.pieces.back().text, 100)));
      }
    } else if (field->number == 2) {
      has_trainer = true;
      model.algorithm = algorithm_of(inner, path);
    } else if (field->number == 3) {
      has_normalizer = true;
      while (const auto setting = inner.next())
        if (setting->number == 2) model.charsmap = setting->bytes;
    }
  }
  // The pieces come first, so a file that is cut between two of them ends without these.
  if (model.pieces.empty() || !has_trainer || !has_normalizer) {
    refuse_model(
        path, fmt::format("is not a SentencePiece model, or is cut: it ends at byte {} without {}",
                          bytes.size(),
                          model.pieces.empty() ? "pieces" : "trainer_spec and normalizer_spec"));
  }
  return model;
}

}  // namespace ds
