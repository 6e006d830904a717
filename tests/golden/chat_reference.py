"""Conversations as transformers writes them, with the Jinja texts of a folder; for make_chat_fixture.py, which describes the folder."""

import pathlib
import re

from transformers.utils.chat_template_utils import render_jinja_template

# Alpaca has no text of its own; this one is ours. Its words are Stanford's, and its line ends LLaMA-Factory's.
ALPACA = """{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content'] %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system = 'Below is an instruction that describes a task. Write a response that appropriately completes the request.' %}
{%- endif %}
{{- system + '\\n\\n' }}
{%- for message in messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) or message['role'] == 'system' %}
        {{- raise_exception('user and assistant must alternate') }}
    {%- elif message['role'] == 'user' %}
        {{- '### Instruction:\\n' + message['content'] + '\\n\\n### Response:\\n' }}
    {%- else %}
        {%- generation %}
        {{- message['content'] + eos_token }}
        {%- endgeneration %}
        {{- '\\n\\n' }}
    {%- endif %}
{%- endfor %}
"""

# Name: the tokenizer, and the begin and end tokens.
BYTES, PIECES = "byte_level", "sentence_piece"
TEMPLATES = {name: (BYTES, None, "<|im_end|>")
             for name in ("chatml", "smollm2", "qwen2", "qwen2.5", "qwen3", "qwen3-nothink", "qwen3-training")}
TEMPLATES |= {name: (BYTES, "<|begin_of_text|>", "<|eot_id|>") for name in ("llama3", "llama3.1", "llama3.2")}
TEMPLATES |= {name: (PIECES, "<s>", "</s>")
              for name in ("llama2", "mistral-v0.1-2023", "mistral-v0.2-2023", "mistral-v1", "mistral-v3", "zephyr", "alpaca")}
ARGUMENTS = {"qwen3-nothink": {"enable_thinking": False}, "llama3.2": {"date_string": "26 Jul 2024"}}

S, U, A = "system", "user", "assistant"


def texts_in(folder):
    """Returns {name: {variant: text}}; the variant of NAME.jinja is ''."""
    texts = {"alpaca": {"": ALPACA}}
    for file in sorted(pathlib.Path(folder).glob("*.jinja")):
        name = max((name for name in TEMPLATES if file.stem == name or file.stem.startswith(name + ".")), key=len)
        texts.setdefault(name, {})[file.stem[len(name) + 1:]] = file.read_text()
    texts["qwen3-nothink"] = {"": texts["qwen3"][""]}
    return texts


def swap(text, old, new, count=1):
    assert text.count(old) == count, (old, text.count(old))
    return text.replace(old, new)


def around(text, expression):
    return swap(text, expression, "{% generation %}" + expression + "{% endgeneration %}")


def marked(name, texts):
    """Returns the template's text with marks around what is trained."""
    text = texts[name][""]
    if "training" in texts[name]:
        return texts[name]["training"]
    if "{%- generation" in text:
        return text
    if name == "qwen2":
        return swap(texts["qwen2.5"]["training"], "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
                    "You are a helpful assistant.", 2)
    if name in ("qwen3", "qwen3-nothink"):
        head, tail = text.split('{%- elif message.role == "assistant" %}')
        tail = tail.replace("'<|im_start|>' + message.role + '\\n' + content", "content")
        tail = tail.replace("'<|im_start|>' + message.role + '\\n<think>", "'<think>")
        tail = swap(tail, "{%- if loop.index0 >", "{{- '<|im_start|>' + message.role + '\\n' }}{%- generation %}\n{%- if loop.index0 >")
        tail = re.sub(r"(\{\{- '<\|im_end\|>\\n' \}\})(\s*\{%- elif message.role == \"tool\" %\})", r"\1{%- endgeneration %}\2", tail, count=1)
        return head + '{%- elif message.role == "assistant" %}' + tail
    if name in ("llama3.1", "llama3.2"):
        header = "{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'"
        body = "message['content'] | trim + '<|eot_id|>' }}"
        return swap(text, header + "+ " + body,
                    header + " }}{% if message['role'] == 'assistant' %}{% generation %}{{- " + body +
                    "{% endgeneration %}{% else %}{{- " + body + "{% endif %}")
    if name == "smollm2":
        text, body = text.replace("\\n", "\n"), "message['content'] + '<|im_end|>' + '\n'"
        return swap(text, " + " + body + "}}", "}}{% if message['role'] == 'assistant' %}{% generation %}{{ " + body +
                    " }}{% endgeneration %}{% else %}{{ " + body + " }}{% endif %}")
    return {
        "llama2": lambda: around(text, "{{ ' '  + content.strip() + ' ' + eos_token }}"),
        "mistral-v0.1-2023": lambda: swap(text, "{{ message['content'] + eos_token + ' ' }}",
                                          "{% generation %}{{ message['content'] + eos_token }}{% endgeneration %}{{ ' ' }}"),
        "mistral-v0.2-2023": lambda: around(text, "{{ message['content'] + eos_token}}"),
        "mistral-v1": lambda: around(text, "{{- ' ' + message['content'] + eos_token}}"),
        "mistral-v3": lambda: around(text, '{{- " " + message["content"]|trim + eos_token}}'),
        "zephyr": lambda: swap(text.replace("\\n", "\n"), "{{ '<|assistant|>\n'  + message['content'] + eos_token }}",
                               "{{ '<|assistant|>\n' }}{% generation %}{{ message['content'] + eos_token }}{% endgeneration %}{{ '' }}"),
    }[name]()


def is_refused(name, messages):
    """Whether we refuse what the text passes over: a system message that it would lose, or that stands alone."""
    late = any(role == S for role, _ in messages[1:])
    alone = [role for role, _ in messages] == [S]
    return (late and name == "llama2") or (alone and name in ("llama2", "mistral-v1", "mistral-v3"))


def rendered(name, text, messages, prompt, marks):
    """Returns the text and the trained ranges of characters; nothing if the template refuses the messages."""
    if name == "mistral-v3" and messages[0][0] == S and messages[-1][0] == A:
        # The text writes the system message only in front of a question that is the last message, so it would be lost in training.
        # Mistral's own library writes it in front of the last question.
        text = swap(text, "{%- if loop.last and system", "{%- if loop.index0 == last_user and system")
    _, bos, eos = TEMPLATES[name]
    chat = [{"role": role, "content": content} for role, content in messages]
    tokens = {"eos_token": eos, "last_user": len(messages) - 3} | ({"bos_token": bos} if bos else {})
    try:
        texts, ranges = render_jinja_template([chat], chat_template=text, return_assistant_tokens_mask=marks, add_generation_prompt=prompt,
                                              **tokens, **ARGUMENTS.get(name, {}))
    except Exception as error:
        assert "TemplateError" in type(error).__name__, error
        return None
    return texts[0], ranges[0] if marks else []


def expected(name, texts, messages, prompt):
    """Returns the pieces [[text, trained]]; nothing if the messages are refused."""
    if is_refused(name, messages):
        return None
    plain = rendered(name, texts[name][""], messages, prompt, False)
    if plain is None:
        return None
    whole, ranges = rendered(name, marked(name, texts), messages, prompt, True)
    assert whole == plain[0], (name, messages, whole, plain[0])
    for variant, text in texts[name].items():
        assert rendered(name, text, messages, prompt, False)[0] == whole, (name, variant, messages)
    pieces, at = [], 0
    for first, end in ranges + [[len(whole), len(whole)]]:
        pieces += [[whole[at:first], False], [whole[first:end], True]]
        at = end
    return [piece for piece in pieces if piece[0]]
