"""Commands about the papers: reproduce, theory, fit, budget, network study; their examples."""

from jitterfly.cli.parser import EXAMPLES

EXAMPLES.update(
    {
        "reproduce": ["jitterfly reproduce --quick --only ms12_alpha --out alpha"],
        "theory": ["jitterfly theory --out theory"],
        "fit": ["jitterfly fit curve.csv --step 3.9us --delay 1us --out fit"],
        "budget": [
            "jitterfly budget --ranks 8192 --latency 120us --step 3.45us --delay 14us",
            "jitterfly budget --ranks 1024 --latency 200us --step 3.45us --noise node.noise",
        ],
        "network study": ["jitterfly network study --quick --only N1 --out network"],
    }
)
