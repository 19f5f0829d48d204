"""Examples at the end of every command's `--help`.

Other packages add those of their commands. They work as they stand: `mine.toml` is what the example
of `init` writes, `copies` what one of `run` does, and other files are the reader's own. A test runs
all of them.
"""

from __future__ import annotations

EXAMPLES = {
    "init": [
        "jitterfly init mine.toml --ranks 16..256 "
        "--noise period=1ms,duration=25us,start=stationary",
        "jitterfly init ring.toml --network L=1us,o=0.2us,G=0.1ns --algorithm ring_allreduce",
    ],
    "run": [
        "jitterfly run list",
        "jitterfly run redundancy --realizations 100 --out copies",
        "jitterfly run mine.toml --target 'mean of slowdown +- 5 %' --dry-run",
        "jitterfly run app.goal --noise node.noise --picture app.png",
        "jitterfly run app.goal --noise node.noise --marks tag=7 --marks-csv iterations.csv",
    ],
    "status": ["jitterfly status copies --open"],
    "plot": ["jitterfly plot copies --kind distribution --out copies.svg"],
    "compare": ["jitterfly compare copies:conventional 'copies:copies inside'"],
    "merge": [
        "jitterfly run mine.toml --shard 1/2 --out parts",
        "jitterfly run mine.toml --shard 2/2 --out parts",
        "jitterfly merge parts",
    ],
    "export": ["jitterfly export copies copies.csv"],
    "info": ["jitterfly info", "jitterfly info --json"],
    "bench": ["jitterfly bench", "jitterfly bench --ranks 2^13 --seconds 0.05"],
    "trace": [
        "jitterfly trace --ranks 16 --copy-levels all --out trace.png",
        "jitterfly trace mine.toml --at ranks=16 --realization 3",
    ],
    "export-goal": ["jitterfly export-goal mine.toml --at ranks=16 --out butterfly.goal"],
    "noise import": ["jitterfly noise import selfish.out --out selfish.noise"],
    "noise record": ["jitterfly noise record --seconds 1 --out here.noise"],
    "noise merge": ["jitterfly noise merge all.noise node_rank*.noise"],
    "noise show": ["jitterfly noise show node.noise --out node.png"],
    "network parameters": ["jitterfly network parameters osu_latency.txt --overhead 0.2us"],
    "network info": ["jitterfly network info --tree 144"],
    "network run": ["jitterfly network run --tree 144 --pattern bruck --ratio 0.5"],
    "slowdown": [
        "jitterfly slowdown --noise period=1ms,duration=25us,start=stationary --ranks 64,1000 "
        "--out slowdown",
        "jitterfly slowdown --noise node.noise --ranks 64..1024",
        "jitterfly slowdown --noise period=10ms,duration=max --ranks 64..4096 --at-most 1.1",
    ],
    "explain": [
        "jitterfly explain --noise node.noise --noise kind=step,delay=14us,probability=0.001 "
        "--ranks 1024 --picture causes.png",
        "jitterfly explain mine.toml --at ranks=64 --json",
        "jitterfly explain app.goal --noise node.noise --slowest 5% --path-picture path.png",
    ],
    "advise": [
        "jitterfly advise --ranks 64,1000 --bytes 8,1KiB --network L=1us,o=0.2us,G=0.1ns "
        "--noise node.noise --within 2% --seconds 5",
        "jitterfly advise --ranks 4,64 --bytes 8,1MiB --network L=1us,o=0.2us,G=0.1ns "
        "--write openmpi.rules",
        "jitterfly advise --ranks 8,64 --bytes 1KiB,16MiB --network L=5us,o=1us,G=20ps "
        "--candidates ring,double_binary_tree --write nccl.csv --protocol simple",
        "jitterfly advise --candidates list",
    ],
    "compare-measured": [
        "jitterfly compare-measured times.txt --unit us --ranks 64 --noise node.noise",
        "jitterfly compare-measured osu_allreduce.txt --ranks 64 --noise node.noise",
    ],
    "completion": [
        "jitterfly completion bash > ~/.local/share/bash-completion/completions/jitterfly",
        'jitterfly completion zsh > "${fpath[1]}/_jitterfly"',
        "jitterfly completion fish > ~/.config/fish/completions/jitterfly.fish",
    ],
    "help": ["jitterfly help syntax", "jitterfly help noise record"],
}
