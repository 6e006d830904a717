// Prints tokens for the comparisons in this folder: tokens_of TOKENIZER reads a text in hexadecimal
// digits from each line. Prints null for a text that is refused.
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/tokenizer/tokenizer.h"
#include "support/hex.h"

namespace {

nlohmann::json row_of(const ds::Tokenizer& tokenizer, const std::string& text) {
  try {
    const auto tokens = tokenizer.encode(text);
    return {tokens, tokenizer.decode(tokens, true), tokenizer.decode(tokens)};
  } catch (const ds::Error&) {
    return nullptr;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  try {
    const ds::Tokenizer tokenizer = ds::Tokenizer::open(argv[1]);
    for (std::string line; std::getline(std::cin, line);)
      fmt::print("{}\n", row_of(tokenizer, ds::test::from_hex(line)).dump());
  } catch (const ds::Error& error) {
    fmt::print(stderr, "{}\n", error.for_people());
    return 65;
  }
  return 0;
}
