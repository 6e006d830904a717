"""Makes tests/golden/fixtures/parquet: small Parquet files in every layout that we read, and the same texts as lines of JSON.

    python tests/golden/make_parquet_files.py

Made with pyarrow 26. NAME.parquet and NAME.jsonl have the same documents in the same order. A column of types.parquet is compared
with the field of the same name.
"""

import json
import pathlib
import random

import pyarrow as pa
import pyarrow.parquet as pq

ROOT = pathlib.Path(__file__).parent
FOLDER = ROOT / "fixtures" / "parquet"
PLAIN = {"store_schema": False, "write_statistics": False}


def write_lines(name, rows):
    (FOLDER / f"{name}.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def write(name, table, **options):
    pq.write_table(table, FOLDER / f"{name}.parquet", **{**PLAIN, **options})


def types():
    """Each layout of strings, in 3 row groups of 3, 3 and 1 rows. The type of a column is in the schema that Arrow stores."""
    texts = ["one", "", "naïve 日本 👍", "two\nlines", "one", "x" * 20, "last"]
    kinds = {"string": pa.string(), "large": pa.large_string(), "view": pa.string_view(), "bytes": pa.binary(), "bytes_view": pa.binary_view(),
             "dictionary": pa.dictionary(pa.int8(), pa.string())}
    columns = {name: pa.array(texts, kind) for name, kind in kinds.items()}
    columns["number"] = pa.array(range(7))
    columns["hole"] = pa.array([None if i == 4 else text for i, text in enumerate(texts)])
    columns["broken"] = pa.array([b"\xff\xfe" if i == 5 else b"ok" for i in range(7)])
    write("types", pa.table(columns), row_group_size=3, store_schema=True, compression="none")
    write_lines("types", [{name: text for name in kinds} for text in texts])


def chats():
    """Conversations: messages with other fields between, a text that is null; and ShareGPT's names."""
    talks = [[("system", "S"), ("user", "Hi"), ("assistant", "Hello!")], [("user", "A"), ("assistant", "B"), ("user", "C"), ("assistant", None)]]
    rows = [{"id": i, "messages": [{"content": text, "name": "n", "role": role} for role, text in talk]} for i, talk in enumerate(talks)]
    write("chat", pa.Table.from_pylist(rows), row_group_size=1)
    write_lines("chat", rows)
    names = {"system": "system", "user": "human", "assistant": "gpt"}
    rows = [{"conversations": [{"from": names[role], "value": text} for role, text in talk]} for talk in talks]
    kind = pa.large_list(pa.struct([("from", pa.string()), ("value", pa.large_string())]))
    write("sharegpt", pa.table({"conversations": pa.array([row["conversations"] for row in rows], kind)}), store_schema=True)
    write_lines("sharegpt", rows)
    messages = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
    talks = [[{"role": "user", "content": "u"}], [], None, [{"role": None, "content": "c"}]]
    write("bad_chat", pa.table({"messages": pa.array(talks, messages)}))


def compressions():
    """The same texts by each compression; one has checksums of its pages."""
    words = (ROOT.parent.parent / "docs" / "glossary.md").read_text().split()[:400]
    draw = random.Random(3)
    texts = [" ".join(draw.choices(words, k=12)) for _ in range(6)]
    for name in ("snappy", "gzip", "zstd", "lz4", "brotli"):
        write(name, pa.table({"text": texts}), compression=name, use_dictionary=False, write_page_checksum=name == "gzip")
    write_lines("compressed", [{"text": text} for text in texts])


def tasks():
    """What end-to-end tests train on: documents for every task, in many small row groups."""
    words = (ROOT.parent.parent / "docs" / "glossary.md").read_text().split()[:300]
    draw = random.Random(7)
    text = lambda most: " ".join(draw.choices(words, k=draw.randint(1, most)))
    rows = [{"text": text(40), "prompt": "Q: " + text(3), "response": text(5), "source": "q " + text(5), "target": "a " + text(3)} for _ in range(24)]
    write("tasks", pa.Table.from_pylist(rows), row_group_size=5, compression="zstd", use_dictionary=False)
    write_lines("tasks", rows)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    types()
    chats()
    compressions()
    tasks()
    write("empty", pa.table({"text": pa.array([], pa.string())}))
