"""Makes tests/golden/fixtures/spans.json: how T5 cuts spans out of a text, as a distribution.

    python tests/golden/make_span_fixture.py

Written from the description of random_spans_noise_mask() and random_spans_helper() in t5/data/preprocessors.py of
text-to-text-transfer-transformer (Raffel et al., arXiv:1910.10683): the numbers of noise tokens and spans are fixed by the length, kept
and noise spans alternate and begin with a kept one, and both are random compositions. "texts" has for each length its counts, the share
of draws in which each token is noise, and the share of spans of each length; "rows" the tokens of a text and of its targets that fill
the encoder's row.
"""

import json
import pathlib

import numpy as np

FIXTURE = pathlib.Path(__file__).parent / "fixtures" / "spans.json"
DRAWS = 20000


def counts(length, share, mean):
    noise = min(max(int(np.round(length * share)), 1), length - 1)
    return noise, max(int(np.round(noise / mean)), 1)


def composition(draw, items, parts):
    """Lengths of `parts` parts of `items`: a shuffled list says before which items a part begins."""
    begins = np.zeros(items, dtype=int)
    begins[1:parts] = 1
    begins[1:] = draw.permutation(begins[1:])
    return np.bincount(np.cumsum(begins), minlength=parts)


def text(draw, length, share, mean):
    noise, spans = counts(length, share, mean)
    at, lengths = np.zeros(length), np.zeros(noise + 1)
    for _ in range(DRAWS):
        kept, cut = composition(draw, length - noise, spans), composition(draw, noise, spans)
        mask = np.repeat(np.tile([0, 1], spans), np.stack([kept, cut], 1).reshape(-1))
        at += mask
        np.add.at(lengths, cut, 1)
    return {"tokens": length, "share": share, "mean": mean, "noise": noise, "spans": spans, "at": np.round(at / DRAWS, 4).tolist(),
            "lengths": np.round(lengths / DRAWS / spans, 4).tolist()}


def row(encoder, share, mean):
    def lengths(tokens):
        noise = int(round(tokens * share))
        spans = int(round(noise / mean))
        return tokens - noise + spans + 1, noise + spans + 1

    tokens = encoder - 1
    while lengths(tokens + 1)[0] <= encoder:
        tokens += 1
    return {"encoder": encoder, "share": share, "mean": mean, "tokens": tokens, "targets": lengths(tokens)[1]}


if __name__ == "__main__":
    draw = np.random.default_rng(1)
    texts = [text(draw, *case) for case in [(2, 0.15, 3), (3, 0.15, 3), (10, 0.15, 3), (20, 0.15, 3), (30, 0.15, 3), (40, 0.5, 3), (33, 0.3, 1.5), (60, 0.15, 3)]]
    rows = [row(*case) for case in [(512, 0.15, 3), (128, 0.15, 3), (1024, 0.15, 3), (512, 0.5, 3), (512, 0.15, 8), (256, 0.3, 2)]]
    FIXTURE.write_text(json.dumps({"texts": texts, "rows": rows}) + "\n")
