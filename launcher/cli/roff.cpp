// Converter from the manual's markdown to roff, line by line.
#include <fmt/format.h>

#include <algorithm>

#include "launcher/cli/man_page.h"

namespace ds::launcher {

namespace {

/// Escapes what roff would interpret.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  const bool command = !out.empty() && (out[0] == '.' || out[0] == '\'');
  return command ? "\\&" + out : out;
}

/// Converts inline markup: `code` and **bold** become bold.
std::string inline_text(std::string_view text) {
  std::string out;
  bool bold = false;
  std::string piece;
  const auto close = [&] {
    out += escaped(piece);
    piece.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool stars = text.substr(i, 2) == "**";
    if (!stars && text[i] != '`') {
      piece += text[i];
      continue;
    }
    close();
    bold = !bold;
    out += bold ? "\\fB" : "\\fR";
    i += stars ? 1 : 0;
  }
  close();
  return out + "\n";
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

class Roff {
 public:
  std::string convert(std::string_view markdown) {
    while (!markdown.empty()) {
      const std::size_t end = std::min(markdown.find('\n'), markdown.size());
      line(markdown.substr(0, end));
      markdown.remove_prefix(std::min(end + 1, markdown.size()));
    }
    end_code();
    return text_;
  }

 private:
  void line(std::string_view line) {
    const bool is_code = line.starts_with("    ");
    if (!is_code && !line.empty()) end_code();
    if (line.empty()) {
      if (in_code_) text_ += "\n";
      fresh_ = !headed_;
    } else if (is_code) {
      begin_code();
      text_ += escaped(line.substr(4)) + "\n";
    } else if (line.starts_with("# ")) {
      text_ += ".TH DSLAUNCH 1\n";
    } else if (line.starts_with("## ")) {
      heading(".SH " + upper(std::string(line.substr(3))));
    } else if (line.starts_with("### ")) {
      heading(fmt::format(".SS {}", line.substr(4)));
    } else if ((fresh_ || headed_) && line.starts_with("**")) {
      text_ += ".TP\n" + inline_text(line);
      fresh_ = headed_ = false;
    } else {
      paragraph(line);
    }
  }

  void heading(const std::string& request) {
    text_ += request + "\n";
    fresh_ = false;
    headed_ = true;
  }

  void paragraph(std::string_view line) {
    if (fresh_) text_ += ".PP\n";
    fresh_ = headed_ = false;
    if (line.starts_with(": ") || line.starts_with("  ")) line.remove_prefix(2);
    text_ += inline_text(line);
  }

  void begin_code() {
    if (!in_code_) text_ += headed_ ? ".RS 4\n.nf\n" : ".PP\n.RS 4\n.nf\n";
    in_code_ = true;
    fresh_ = headed_ = false;
  }
  void end_code() {
    if (!in_code_) return;
    while (text_.ends_with("\n\n")) text_.pop_back();
    text_ += ".fi\n.RE\n";
    in_code_ = false;
    fresh_ = true;
  }

  std::string text_;
  bool in_code_ = false;
  bool fresh_ = false;   // a new paragraph begins
  bool headed_ = false;  // the last line was a heading
};

}  // namespace

std::string roff_of(std::string_view markdown) { return Roff().convert(markdown); }

}  // namespace ds::launcher
