// Tests the escapes of a report's page.
#include "engine/report/page_text.h"

#include <doctest/doctest.h>

using namespace ds::report;

TEST_CASE("report: no text of the data can end its script element") {
  CHECK(text_for_script(R"({"a":"</script><!--&"})") ==
        R"({"a":"\u003c/script\u003e\u003c!--\u0026"})");
}

TEST_CASE("report: texts of HTML") {
  CHECK(text_for_html("<img onerror=\"x('&')\">") ==
        "&lt;img onerror=&quot;x(&#39;&amp;&#39;)&quot;&gt;");
}

TEST_CASE("report: the page has every part once and fetches nothing") {
  const std::string page = report_page("{{DATA}}</title>", R"({"data":1})", "abc123");
  CHECK(page.starts_with(kPageMark));
  CHECK(page.find("<title>{{DATA}}&lt;/title&gt;</title>") != std::string::npos);
  CHECK(page.find(R"(nonce="abc123">{"data":1}</script>)") != std::string::npos);
  CHECK(page.find("script-src 'nonce-abc123'") != std::string::npos);
  for (const char* place : {"{{STYLE}}", "{{SCRIPT}}", "{{NONCE}}", "{{TITLE}}"})
    CHECK_MESSAGE(page.find(place) == std::string::npos, place);
  std::string without = page;
  const std::string name = "http://www.w3.org/2000/svg";  // a name, which is not fetched
  for (std::size_t at = 0; (at = without.find(name)) != std::string::npos;)
    without.erase(at, name.size());
  for (const char* link : {"http:", "https:", "src=", "@import", "url(h", "innerHTML"})
    CHECK_MESSAGE(without.find(link) == std::string::npos, link);
}
