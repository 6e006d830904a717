#include "engine/report/page_text.h"

#include <report_assets.h>  // in the build folder: kPageHtml, kPageStyle, kPageScript

namespace ds::report {
namespace {

/// Replaces every "{{NAME}}" of `text`.
void fill_in(std::string& text, std::string_view name, std::string_view value) {
  const std::string place = "{{" + std::string(name) + "}}";
  for (std::size_t at = 0; (at = text.find(place, at)) != std::string::npos; at += value.size())
    text.replace(at, place.size(), value);
}

}  // namespace

std::string text_for_script(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      text += "\\u003c";
    else if (c == '>')
      text += "\\u003e";
    else if (c == '&')
      text += "\\u0026";
    else
      text += c;
  }
  return text;
}

std::string text_for_html(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string report_page(std::string_view title, std::string_view json, std::string_view nonce) {
  std::string page(kPageHtml);
  fill_in(page, "STYLE", kPageStyle);
  fill_in(page, "SCRIPT", kPageScript);
  fill_in(page, "NONCE", nonce);
  // Texts of users come last: nothing in them is a place to fill in any more.
  const std::string safe = text_for_html(title);
  const std::size_t at = page.find("{{TITLE}}");
  if (at != std::string::npos) page.replace(at, 9, safe);
  const std::size_t data = page.rfind("{{DATA}}");
  if (data != std::string::npos) page.replace(data, 8, json);
  return page;
}

}  // namespace ds::report
