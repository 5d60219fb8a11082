#!/usr/bin/env python3
"""Cuts a small part out of the recorded PyTorch results: subset.py FULL OUT [KILOBYTES]

Every operator keeps a few small cases that differ in dtype, layout, rank and gradients; optimizers and schedulers are
kept whole. The result has the layout of the full set and is what tests/goldens holds.
"""
import json
import math
import os
import struct
import sys

CASES, CASE_BYTES, NAME_BYTES = 8, 4000, 10000


def read_tensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    return {k: (v, data[slice(*v["data_offsets"])]) for k, v in header.items() if k != "__metadata__"}


def write_tensors(path, tensors):
    header, at = {}, 0
    for key, (info, data) in tensors.items():
        header[key] = dict(info, data_offsets=[at, at + len(data)])
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.writelines(data for _, data in tensors.values())


def walk(value):
    """All recorded tensors of a case."""
    if isinstance(value, dict) and "t" in value:
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from walk(item)


def signature(case):
    first = next(walk(case["args"]), {})
    return (first.get("dtype"), "stride" in first, "grads" in case, len(case["args"]), 0 in first.get("shape", []))


def choose(cases, tensors):
    """Small cases, new signatures first."""
    def size(case):
        return sum(len(tensors[t["t"]][1]) for t in walk(case)) + len(json.dumps(case)) // 4

    chosen, seen, total = [], set(), 0
    by_size = sorted(cases, key=size)
    fresh = [c for c in by_size if not (signature(c) in seen or seen.add(signature(c)))]
    fresh.sort(key=lambda c: "grads" not in c)
    for case in fresh + by_size:
        n = size(case)
        fits = n <= CASE_BYTES and total + n <= NAME_BYTES and len(chosen) < CASES
        if case not in chosen and (fits or not chosen):
            chosen.append(case)
            total += n
    return sorted(chosen, key=cases.index)


def write_lines(path, rows):
    with open(path, "w") as file:
        file.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)


def cut(full, out, folder, name):
    stem = os.path.join(folder, name)
    tensors = read_tensors(os.path.join(full, stem + ".safetensors"))
    cases = choose([json.loads(line) for line in open(os.path.join(full, stem + ".jsonl"))], tensors)
    write_lines(os.path.join(out, stem + ".jsonl"), cases)
    write_tensors(os.path.join(out, stem + ".safetensors"), {t["t"]: tensors[t["t"]] for c in cases for t in walk(c)})
    return cases


def main(full, out, kilobytes=4096):
    os.makedirs(os.path.join(out, "ops"), exist_ok=True)
    index = [json.loads(line) for line in open(os.path.join(full, "index.jsonl"))]
    for row in index:
        cases = cut(full, out, "ops", row["op"])
        row["cases"], row["grad_cases"] = len(cases), sum("grads" in c for c in cases)
    write_lines(os.path.join(out, "index.jsonl"), index)
    for name in ("optimizers.jsonl", "optimizers.safetensors", "schedulers.jsonl"):
        with open(os.path.join(full, name), "rb") as source, open(os.path.join(out, name), "wb") as target:
            target.write(source.read())
    total = sum(os.path.getsize(os.path.join(d, f)) for d, _, names in os.walk(out) for f in names)
    print(f"{sum(row['cases'] for row in index)} cases, {math.ceil(total / 1024)} KB")
    return 0 if total <= int(kilobytes) * 1024 else "too large"


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
