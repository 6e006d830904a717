// JSON as people write it.
#include "engine/deepspeed/json_text.h"

#include <doctest/doctest.h>

using ds::JsonValue;

namespace {

JsonValue read(std::string_view text) { return ds::read_json_object({text, "f.json"}); }

std::string error_of(std::string_view text) {
  try {
    (void)read(text);
  } catch (const ds::Error& error) {
    return error.for_people();
  }
  return "no error";
}

}  // namespace

TEST_CASE("comments, trailing commas and a byte order mark are accepted") {
  const JsonValue value = read(
      "\xEF\xBB\xBF// first\n{ \"a\": 1, # one\n /* two\n lines */ \"b\": [1, 2,],\r\n \"c\": "
      "{\"d\": null,},}\n# end");
  REQUIRE(value.members.size() == 3);
  CHECK(value.find("a")->value.integer == 1);
  CHECK(value.find("b")->value.list.size() == 2);
  CHECK(value.find("c")->value.find("d")->value.is(JsonValue::Kind::null));
  CHECK(value.find("e") == nullptr);
}

TEST_CASE("numbers are integers or doubles as they are written") {
  const JsonValue value =
      read(R"({"a": 5e8, "b": -3, "c": 0.5, "d": 1E-4, "e": 9223372036854775808, "f": 0})");
  CHECK(value.find("a")->value.is(JsonValue::Kind::number));
  CHECK(value.find("a")->value.number == 5e8);
  CHECK(value.find("b")->value.integer == -3);
  CHECK(value.find("b")->value.number == -3);
  CHECK(value.find("d")->value.number == 1e-4);
  CHECK(value.find("e")->value.is(JsonValue::Kind::number));
  CHECK(value.find("f")->value.is(JsonValue::Kind::integer));
  for (const char* bad : {"01", "1.", ".5", "+1", "1e", "--1", "1e999", "0x10"})
    CHECK_MESSAGE(
        error_of(std::string("{\"a\": ") + bad + "}").find("invalid JSON") != std::string::npos,
        bad);
}

TEST_CASE("escapes, also pairs of surrogates; lone ones are replaced") {
  const JsonValue value =
      read(R"({"a": "\u00e9\n\"\\\/", "b": "\ud83d\ude00", "c": "\ud83dx", "d": "\ude00"})");
  CHECK(value.find("a")->value.text == "é\n\"\\/");
  CHECK(value.find("b")->value.text == "😀");
  CHECK(value.find("c")->value.text == "\uFFFDx");
  CHECK(value.find("d")->value.text == "\uFFFD");
}

TEST_CASE("errors have the place") {
  CHECK(
      error_of("{\n  \"a\": tru\n}") ==
      "f.json:2:8: invalid JSON: expected a value\n    \"a\": tru\n         ^\n  hint: strings are "
      "written in double quotes");
  CHECK(error_of("{\"a\": True}").find("JSON writes true, false and null") != std::string::npos);
  CHECK(error_of("{\"a\": 1 \"b\": 2}").find("f.json:1:9: invalid JSON: expected , or }") == 0);
  CHECK(error_of("{\"a\": 1, \"a\": 2}").find("\"a\" is given twice") != std::string::npos);
  CHECK(error_of("[1]").find("a configuration is one JSON object") != std::string::npos);
  CHECK(error_of("").find("a configuration is one JSON object") != std::string::npos);
  CHECK(error_of("{} x").find("text after the end") != std::string::npos);
  CHECK(error_of("{\"a").find("a string without its closing quote") != std::string::npos);
  CHECK(error_of("{/* }").find("a comment without an end") != std::string::npos);
  CHECK(error_of("{\"a\": \"\xFF\"}").find("not UTF-8") != std::string::npos);
  CHECK(error_of("{\"a\": \"\xED\xA0\x80\"}").find("not UTF-8") != std::string::npos);
  CHECK(error_of("{\"a\": \"\\q\"}").find("unknown escape") != std::string::npos);
  std::string deep = "{\"a\": ";
  for (int i = 0; i < 100; ++i) deep += "[";
  CHECK(error_of(deep).find("nested deeper than 64 levels") != std::string::npos);
}
