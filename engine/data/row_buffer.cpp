// RowBuffer: copies tokens of files into the fields of a row.
#include "engine/data/row_buffer.h"

#include <algorithm>
#include <limits>

#include "engine/base/error.h"

namespace ds {
namespace {

/// A number that does not fit becomes one that every limit excludes, so that its place is reported.
std::int32_t narrow(std::int64_t token) {
  constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();
  return token < 0 || token > kLargest ? kLargest : static_cast<std::int32_t>(token);
}

WholeNumbers field_of(const std::vector<std::int32_t>& numbers) {
  return {reinterpret_cast<const std::byte*>(numbers.data()), WholeType::i32, std::ssize(numbers)};
}

}  // namespace

RowBuffer::RowBuffer(Task task, std::int64_t length, std::int64_t encoder_length) : task_(task) {
  const auto size = static_cast<std::size_t>(length);
  const auto encoder_size = static_cast<std::size_t>(encoder_length);
  for (auto* const numbers : {&tokens_, &targets_, &documents_}) numbers->resize(size);
  for (auto* const numbers : {&encoder_tokens_, &encoder_documents_}) numbers->resize(encoder_size);
  clear();
}

void RowBuffer::clear() {
  std::ranges::fill(tokens_, 0);
  std::ranges::fill(targets_, -1);
  std::ranges::fill(documents_, -1);
  std::ranges::fill(encoder_tokens_, 0);
  std::ranges::fill(encoder_documents_, -1);
  used_ = encoder_used_ = 0;
  document_ = -1;
}

void RowBuffer::append(const TokenFile& file, std::int64_t begin, std::int64_t count,
                       bool is_trained) {
  const WholeNumbers& from = file.tokens();
  for (std::int64_t i = begin; i < begin + count; ++i) {
    const std::int32_t token = narrow(from[i]);
    const auto at = static_cast<std::size_t>(used_);
    const bool follows = used_ > 0 && documents_[at - 1] == document_;
    if (task_ == Task::next_token && follows && is_trained) targets_[at - 1] = token;
    if (used_ == std::ssize(tokens_)) return;
    tokens_[at] = token;
    documents_[at] = document_;
    ++used_;
  }
}

void RowBuffer::cut_to(std::int64_t used) {
  for (; used_ > used; --used_) {
    const auto at = static_cast<std::size_t>(used_) - 1;
    tokens_[at] = 0;
    targets_[at] = documents_[at] = -1;
  }
}

void RowBuffer::append_source(const TokenFile& file, std::int64_t begin, std::int64_t count) {
  for (std::int64_t i = begin; i < begin + count; ++i) append_source(narrow(file.tokens()[i]));
}

void RowBuffer::append_source(std::int32_t token) {
  if (encoder_used_ == std::ssize(encoder_tokens_)) return;
  const auto at = static_cast<std::size_t>(encoder_used_++);
  encoder_tokens_[at] = token;
  encoder_documents_[at] = document_;
}

void RowBuffer::append_target(const TokenFile& file, std::int64_t begin, std::int64_t count) {
  for (std::int64_t i = begin; i < begin + count; ++i) append_target(narrow(file.tokens()[i]));
}

void RowBuffer::append_target(std::int32_t token) {
  if (used_ == std::ssize(targets_)) return;
  const auto at = static_cast<std::size_t>(used_++);
  targets_[at] = token;
  documents_[at] = document_;
}

SampleRow RowBuffer::row(bool apart) const {
  SampleRow row;
  const auto set = [&](Field field, const std::vector<std::int32_t>& numbers) {
    row.fields[static_cast<std::size_t>(field)] = field_of(numbers);
  };
  // A decoder's inputs are made of its targets.
  if (task_ != Task::pairs && task_ != Task::spans) set(Field::tokens, tokens_);
  set(Field::targets, targets_);
  if (apart) set(Field::documents, documents_);
  if (!encoder_tokens_.empty()) set(Field::encoder_tokens, encoder_tokens_);
  if (!encoder_tokens_.empty() && apart) set(Field::encoder_documents, encoder_documents_);
  return row;
}

}  // namespace ds
