// Texts of the HTML page: escapes, and the page around the data (pure).
#pragma once

#include <string>
#include <string_view>

namespace ds::report {

/// The first line of every report, by which an old one may be replaced.
inline constexpr std::string_view kPageMark = "<!doctype html><!-- dslaunch report -->";

/// Returns JSON whose <, > and & are written as \u escapes, so that no text in it can end the
/// script element that holds it.
std::string text_for_script(std::string_view json);
/// Returns text in which &, <, > and quotes are character references.
std::string text_for_html(std::string_view text);

/// Returns the whole page. `json`: of text_for_script(). `nonce`: unpredictable letters and digits;
/// scripts without it do not run, so that even an escape that was forgotten could start nothing.
std::string report_page(std::string_view title, std::string_view json, std::string_view nonce);

}  // namespace ds::report
