"""What the peers that are Python's engines of tables share: how they are called, the keys' mix, and the clock."""
import json
import os
import sys
import time

options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
experiment = options.get("--experiment", "")
threads = int(options.get("--threads", "1"))
os.environ["POLARS_MAX_THREADS"] = str(threads)


def tell(rows):
    """Prints the rows, and ends the program."""
    print(json.dumps({"rows": rows}))
    sys.exit(0)


def only(*experiments):
    """Of another experiment there are no rows."""
    if experiment not in experiments:
        tell([])


def elsewhere():
    """What is not installed here may be in the environment that scripts/deps.sh --bench makes: the program
    begins anew there. Without it there are no rows."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    python = os.path.join(cache, "cohort", "tables", "bin", "python3")
    if os.path.exists(python) and not sys.executable.startswith(os.path.dirname(python)):
        os.execv(python, [python, *sys.argv])
    tell([])


def mix(x):
    """bench/keys.h, of arrays of 64 bits."""
    u64 = x.dtype.type
    x = (x ^ (x >> u64(33))) * u64(0xFF51AFD7ED558CCD)
    x = (x ^ (x >> u64(33))) * u64(0xC4CEB9FE1A85EC53)
    return x ^ (x >> u64(33))


def timed(run, runs):
    """The seconds of so many runs, behind one that does not count, in ascending order; the last answer."""
    seconds, answer = [], None
    for _ in range(runs + 1):
        answer = None
        start = time.perf_counter()
        answer = run()
        seconds.append(time.perf_counter() - start)
    return sorted(seconds[1:]), answer


def row(peer, version, n, seconds, **more):
    """A row of the bench, but for its name and place."""
    return {"n": n, "unit": "M/s", "scale": 1e-6, "median": n / seconds[len(seconds) // 2], "least": n / seconds[-1],
            "most": n / seconds[0], "runs": len(seconds), "peer": {"name": peer, "version": version}, **more}
