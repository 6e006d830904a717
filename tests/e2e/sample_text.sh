#!/usr/bin/env bash
# `dslaunch sample` with text: a folder's tokenizer.json, or vocab.json and merges.txt, make tokens of prompts and text of tokens, for
# models that continue, that have an encoder, and that fill masks; tokenizers that cannot be read are refused.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
. "$(dirname "$0")/../support/sample_command.sh" || exit 1
command -v python3 >/dev/null || { echo "skipped: needs python3"; exit 77; }
fixtures=$DS_SOURCE/tests/golden/fixtures

# The fixtures' models have 61 tokens: here 60 characters, and [MASK].
cat >"$work/tokenizer.py" <<'END'
import json, sys
tokens = [chr(33 + i) for i in range(59)] + ["Ġ", "[MASK]"]
print(json.dumps({
    "added_tokens": [{"id": 60, "content": "[MASK]", "special": True, "normalized": False, "lstrip": False, "rstrip": False, "single_word": False}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {token: i for i, token in enumerate(tokens)}, "merges": []}}))
END
python3 "$work/tokenizer.py" >"$work/tokenizer.json"
# text_of NUMBERS...: what these tokens are
text_of() { python3 -c 'import sys; print("".join(" " if t == 59 else "" if t == 60 else chr(33 + t) for t in map(int, sys.argv[1:])))' "$@"; }

for name in gpt2 t5; do
  cp -r "$fixtures/sample/$name" "$work/$name"
  cp "$work/tokenizer.json" "$work/$name/"
  # The prompt 3 1 4 1 5 is "$\"%\"&".
  greedy=$(sed -n 2p "$work/$name/greedy.txt")
  wanted=$(text_of $greedy)
  [ $name = t5 ] || wanted="\$\"%\"&$wanted"
  [ "$(sample "$work/$name" --prompt '$"%"&')" = "$wanted" ] || fail "$name: $(sample "$work/$name" --prompt '$"%"&'), not $wanted"
  [ "$(sample "$work/$name" --tokens 3,1,4,1,5)" = "$greedy" ] || fail "$name: numbers are not answered with numbers"
  printf '$"%%"&\n(\n' >"$work/prompts"
  sample "$work/$name" --prompts "$work/prompts" >"$work/out"
  printf '=== 1\n%s\n\n=== 2\n' "$wanted" | cmp -s -n "$((${#wanted} + 14))" - "$work/out" || fail "$name --prompts: $(cat "$work/out")"
  sample "$work/$name" --prompt '(' --length 5 --json | python3 -c '
import json, sys
one, = json.load(sys.stdin)
sys.exit(one["prompt"] != [7] or one["text"] != "".join(" " if t == 59 else "" if t == 60 else chr(33 + t) for t in one["tokens"]))' ||
    fail "$name --json: $(sample "$work/$name" --prompt '(' --length 5 --json)"
done

cp -r "$fixtures/masks/bert" "$work/bert"
cp "$work/tokenizer.json" "$work/bert/"
wanted=$(text_of $(head -1 "$work/bert/filled.txt"))
[ "$(sample "$work/bert" --prompt '([MASK]*')" = "$wanted" ] || fail "bert: $(sample "$work/bert" --prompt '([MASK]*'), not $wanted"
sample "$work/bert" --prompt '([MASK]*' --candidates 1 | grep -q "^  2: 'B' 0.3555$" || fail "bert: $(sample "$work/bert" --prompt '([MASK]*' --candidates 1)"

refused 64 "prompt 1: the tokenizer makes no tokens of it" "$work/gpt2" --prompt '~~'
refused 64 "this model has no tokenizer" "$fixtures/sample/gpt2" --prompt Hello
echo '{"model": {"type": "WordLevel"}}' >"$work/gpt2/tokenizer.json"
refused 65 'tokenizer.json.model: the type "WordLevel" is not supported' "$work/gpt2" --prompt a
echo '{"model": ' >"$work/gpt2/tokenizer.json"
refused 65 "is not JSON" "$work/gpt2" --prompt a
[ "$(sample "$work/gpt2" --tokens 3,1,4,1,5)" = "$(sed -n 2p "$work/gpt2/greedy.txt")" ] || fail "numbers need a tokenizer"

rm "$work/gpt2/tokenizer.json"
python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["model"]["vocab"]))' <"$work/tokenizer.json" >"$work/gpt2/vocab.json"
echo '#version: 0.2' >"$work/gpt2/merges.txt"
wanted="\$\"%\"&$(text_of $(sed -n 2p "$work/gpt2/greedy.txt"))"
[ "$(sample "$work/gpt2" --prompt '$"%"&')" = "$wanted" ] || fail "vocab.json: $(sample "$work/gpt2" --prompt '$"%"&'), not $wanted"
rm "$work/gpt2/merges.txt"
refused 65 "gpt2/merges.txt: cannot be read" "$work/gpt2" --prompt a

[ $failures = 0 ] && echo "prompts and continuations are text where a folder has a tokenizer"
exit $((failures > 0))
