#!/usr/bin/env bash
# Writes two files of JSONL from data/english.txt, for the ready configurations that read lines of JSON:
#
#   scripts/make_jsonl.sh [TEXT [FOLDER]]        default: data/english.txt, data
#
# FOLDER/chapters.jsonl: {"text": ...}, a chapter a line
# FOLDER/pairs.jsonl: {"source": ..., "target": ...}, 3 verses of a chapter, and the verse that follows them
# TEXT has a verse on each line, and an empty line between chapters, as scripts/fetch_text.sh writes it.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
text=${1:-$root/data/english.txt}
folder=${2:-$root/data}

mkdir -p "$folder"
awk -v chapters="$folder/chapters.jsonl" -v pairs="$folder/pairs.jsonl" '
  function quoted(text) { gsub(/[\\"]/, "\\\\&", text); gsub(/\t/, " ", text); return "\"" text "\"" }
  function end_chapter() { if (chapter != "") print "{\"text\": " quoted(chapter) "}" > chapters; chapter = source = ""; verses = 0 }
  $0 == "" { end_chapter(); next }
  { chapter = chapter (chapter == "" ? "" : " ") $0
    if (++verses < 4) { source = source (source == "" ? "" : " ") $0; next }
    print "{\"source\": " quoted(source) ", \"target\": " quoted($0) "}" > pairs
    source = ""; verses = 0 }
  END { end_chapter() }' "$text"
echo "make_jsonl: wrote $folder/chapters.jsonl, $(wc -l < "$folder/chapters.jsonl") lines, and $folder/pairs.jsonl, $(wc -l < "$folder/pairs.jsonl") lines"
