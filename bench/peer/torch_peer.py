"""PyTorch's side of the benchmarks. Any version from 1.13 on; no other package.

A question a line on the standard input, a line of JSON on the standard output:
    time THREADS SECONDS WORK...    -> {"value": best time of one repetition in ns}
    memory forward|train            -> {"value": bytes at the peak, less those before, in a process of its own}
    load time|memory                -> {"value": ns or bytes of `import torch` in a process of its own}
The first line out is {"name": "PyTorch VERSION"}; a question that it cannot answer has the value null.
"""
import gc
import json
import subprocess
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH_NS, CUDA_BATCH_NS = 200e3, 5e6  # timing.c, gpu.c
DTYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16}


# ---- timing: as in timing.c ----
def batch_ns(run, n):
    start = time.perf_counter_ns()
    run(n)
    return time.perf_counter_ns() - start


# As in timing.c.
LEAST_BATCHES = 3


def batch_size(run, length):
    n = 1
    while True:
        ns = min(batch_ns(run, n), batch_ns(run, n))
        if ns >= length / 2:
            return n
        n = n * 8 if ns < length / 16 else int(n * length / ns) + 1


def best_ns(run, seconds, batch):
    n = batch_size(run, batch)
    best, end, batches = float("inf"), time.perf_counter() + seconds, 0
    while batches < LEAST_BATCHES or time.perf_counter() < end:
        best = min(best, batch_ns(run, n) / n)
        batches += 1
    return best


def loop(statement, grad=False, **names):
    """A function that executes the statement n times, without a call around each."""
    source = f"def run(n):\n    for _ in range(n):\n        {statement}\n"
    exec(source, names)
    return names["run"] if grad else torch.no_grad()(names["run"])


def uniform(*sizes, dtype=torch.float32):
    return (torch.rand(*sizes) * 2 - 1).to(dtype)


# ---- dispatch ----
def chain(leaf, a, b):
    y = leaf
    for k in range(40):
        y = y + b if k & 1 else y * a
    y.backward(a)
    leaf.grad = None


STATEMENTS = {
    "empty": "relu_(empty)",
    "composite": "positive(a)",
    "add": "add(a, b)",
    "add_grad": "add(leaf, b)",
    "mul_scalar": "mul(a, 2.0)",
    "view": "a.view(2, 2)",
    "chain": "chain(leaf, a, b)",
}


def dispatch(work):
    return loop(STATEMENTS[work], work in ("add_grad", "chain"), a=uniform(4), b=uniform(4), empty=uniform(0),
                leaf=uniform(4).requires_grad_(), add=torch.add, mul=torch.mul, relu_=torch.relu_,
                positive=torch.positive, chain=chain)


# ---- kernels ----
def kernel(name, dtype, rows, columns):
    rows, columns, dtype = int(rows), int(columns), DTYPES[dtype]
    a, b = uniform(rows, columns, dtype=dtype), uniform(rows, columns, dtype=dtype)
    weight, bias = uniform(columns, dtype=dtype), uniform(columns, dtype=dtype)
    statement = {
        "add": "a + b",
        "mul": "a * b",
        "gelu": "F.gelu(a)",
        "sum_dim0": "a.sum(0)",
        "sum_dim1": "a.sum(1)",
        "softmax": "a.softmax(-1)",
        "log_softmax": "a.log_softmax(-1)",
        "layer_norm": "F.layer_norm(a, (columns,), weight, bias)",
    }.get(name, f"a.{name}()")
    return loop(statement, a=a, b=b, weight=weight, bias=bias, columns=columns, F=F)


def product(dtype, m, n, k, transposed):
    m, n, k, dtype = int(m), int(n), int(k), DTYPES[dtype]
    a = uniform(m, k, dtype=dtype)
    b = uniform(n, k, dtype=dtype).t() if transposed == "1" else uniform(k, n, dtype=dtype)
    return loop("mm(a, b)", mm=torch.mm, a=a, b=b)


# ---- training steps: the models of train.c ----
def digits_cnn():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                         nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Dropout(0.25), nn.Linear(512, 10)), (1, 8, 8)


def mlp():
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)), (64,)


def train(name, variant):
    model, shape = {"digits_cnn": digits_cnn, "mlp": mlp}[name]()
    make = {"digits_cnn": torch.optim.AdamW, "mlp": torch.optim.Adam}[name]
    options = {"default": {}, "fused": {"fused": True}}[variant]
    optimizer = make(model.parameters(), lr=1e-3, **options)
    x, target = uniform(64, *shape), torch.randint(10, (64,))

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), target).backward()
        optimizer.step()
    return loop("step()", True, step=step)


# ---- the GPU: gpu.c; every batch ends with a synchronization ----
def on_gpu(run):
    def synchronized(n):
        run(n)
        torch.cuda.synchronize()
    return synchronized


def cuda_mlp():
    model = mlp()[0].cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, target = uniform(64, 64).cuda(), (torch.arange(64) % 10).cuda()

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), target).backward()
        optimizer.step()
    return step


def cuda_cross_entropy(rows, columns):
    x = uniform(rows, columns).cuda().requires_grad_()
    target = torch.zeros(rows, dtype=torch.int64).cuda()

    def both_ways():
        F.cross_entropy(x, target).backward()
        x.grad = None
    return both_ways


def cuda(name, dtype, rows, columns):
    rows, columns, dtype = int(rows), int(columns), DTYPES[dtype]
    if name == "mlp":
        return on_gpu(loop("step()", True, step=cuda_mlp()))
    if name == "cross_entropy":
        return on_gpu(loop("step()", True, step=cuda_cross_entropy(rows, columns)))
    a, b = (uniform(rows, columns).to(dtype).cuda() for _ in range(2))
    if name == "chain":
        leaf = uniform(columns).cuda().requires_grad_()
        return on_gpu(loop("chain(leaf, a, b)", True, chain=chain, leaf=leaf, a=a[0].clone(), b=b[0].clone()))
    weight, bias, out = uniform(columns).to(dtype).cuda(), uniform(columns).to(dtype).cuda(), torch.empty_like(a)
    statement = {
        "copy": "out.copy_(a)",
        "add": "a + b",
        "gelu": "F.gelu(a)",
        "sum_dim0": "a.sum(0)",
        "sum_dim1": "a.sum(1)",
        "softmax": "a.softmax(-1)",
        "layer_norm": "F.layer_norm(a, (columns,), weight, bias)",
        "transpose": "a.t().contiguous()",
        "mm": "torch.mm(a, b)",
    }.get(name, f"a.{name}()")
    return on_gpu(loop(statement, a=a, b=b, out=out, weight=weight, bias=bias, columns=columns, F=F, torch=torch))


# ---- memory: the model of memory.c, in a fresh process ----
LAYERS, WIDTH, BATCH = 50, 512, 2048


def status_bytes(field):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(field + ":"))


def deep_model():
    return nn.Sequential(*(layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())))


def deep_step(model, x, training):
    if not training:
        with torch.no_grad():
            model(x)
        return
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    model(x).sum().backward()
    optimizer.step()


def memory_peak(what):
    torch.set_num_threads(1)
    # What libraries set up at their first use is not the model's.
    deep_step(nn.Sequential(nn.Linear(64, 64), nn.ReLU()), uniform(64, 64), what == "train")
    before = status_bytes("VmRSS")
    model, x = deep_model(), uniform(BATCH, WIDTH)
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")
    deep_step(model, x, what == "train")
    return status_bytes("VmHWM") - before


LOAD = """
import time
start = time.perf_counter_ns()
def rss():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS:"))
before = rss()
import torch
print(*(time.perf_counter_ns() - start, rss() - before))
"""


def fresh(*arguments):
    return subprocess.run([sys.executable, *arguments], stdout=subprocess.PIPE, check=True).stdout.decode()


# ---- questions ----
def answer(question):
    kind, *words = question.split()
    if kind == "time":
        threads, seconds, work, *rest = words
        torch.set_num_threads(int(threads))
        torch.manual_seed(0)
        make = {"kernel": kernel, "mm": product, "train": train, "cuda": cuda}.get(work)
        batch = CUDA_BATCH_NS if work == "cuda" else BATCH_NS
        return best_ns(make(*rest) if make else dispatch(work), float(seconds), batch)
    if kind == "memory":
        return float(fresh(__file__, "--memory", *words))
    return float(fresh("-c", LOAD).split()[["time", "memory"].index(words[0])])


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--memory":
        print(memory_peak(sys.argv[2]))
        return
    print(json.dumps({"name": "PyTorch " + torch.__version__.split("+")[0]}), flush=True)
    for line in sys.stdin:
        value = None
        try:
            value = answer(line)
        except Exception as error:
            print(f"torch_peer: {line.strip()}: {error}", file=sys.stderr)
        # A loop and the names in it hold each other, and hundreds of MiB. Not after the answer: the next contender's time runs
        # from there on.
        gc.collect()
        print(json.dumps({"value": value}), flush=True)


main()
