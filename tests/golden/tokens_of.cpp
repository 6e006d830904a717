// Prints tokens for make_tokenizer_fixture.py: tokens_of TOKENIZER reads a text in hexadecimal
// digits from each line.
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/tokenizer/tokenizer.h"
#include "support/hex.h"

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  try {
    const ds::Tokenizer tokenizer = ds::Tokenizer::open(argv[1]);
    for (std::string line; std::getline(std::cin, line);) {
      const auto tokens = tokenizer.encode(ds::test::from_hex(line));
      const nlohmann::json row = {tokens, tokenizer.decode(tokens, true), tokenizer.decode(tokens)};
      fmt::print("{}\n", row.dump());
    }
  } catch (const ds::Error& error) {
    fmt::print(stderr, "{}\n", error.for_people());
    return 65;
  }
  return 0;
}
