"""The words of a report that are the same for every run."""

from __future__ import annotations

INTRODUCTION = (
    "Figures of four papers on noise in collective communication, run again. MS12 and CS14 average "
    "30 runs; here each number comes from a distribution of independent realizations and has an "
    "interval, and each claim is judged by intervals alone."
)

VERDICT = (
    "A part of a claim is reproduced when the whole interval lies on the claim's side, differs "
    "when the whole interval lies on the other side, and otherwise the data cannot tell. A claim "
    "is reproduced when all its parts are, and differs when one does. Where a paper says a word, "
    "such as “far better”, the number that we take for it stands beside the finding."
)

FEW_RUNS = (
    "Noise that is rare hits some runs and misses most. The mean of 30 such runs depends on how "
    "many were hit, and two honest experiments differ by more than the effects they measure. "
    "Here are the cells of one figure where such means scatter most: means of 30 runs, no run in "
    "two of them, beside the mean of all realizations with its interval."
)

METHOD = (
    (
        "What is counted",
        "A realization is one independent draw of all noise of the whole machine. Time is an "
        "integer number of picoseconds, so sums, products and maxima are exact. All algorithms of "
        "a cell see the same noise: their differences and ratios are paired.",
    ),
    (
        "Means and ratios",
        "The interval of a mean is Student's. A ratio of means, such as gain or recovery, has "
        "Fieller's interval over the paired realizations; it is unbounded where the denominator "
        "cannot be told from zero.",
    ),
    (
        "Quantiles",
        "Order statistics with their exact binomial probability: nothing is assumed about the "
        "distribution. A sample too small for such an interval is said to be too small.",
    ),
    (
        "The best number of redundant exchanges T",
        "The smallest T whose mean the data cannot tell from the smallest mean, by paired "
        "differences corrected for the number of comparisons. The best T is chosen by the data "
        "that its gain is then taken from, which favours the redundant scheme a little.",
    ),
    (
        "When a cell stops",
        "A cell with a target, such as “mean of gain ± 2 % at 95 %”, is looked at on "
        "occasions fixed in advance, and the permitted error rate is shared out among these looks. "
        "So the interval holds although the data decided when to stop. A cell that reaches "
        "its budget first has not met its target, and says so.",
    ),
    (
        "What 95 % means here",
        "Each interval misses the truth in at most one of twenty experiments. There are many "
        "intervals on this page and none is corrected for that: expect some to miss.",
    ),
    (
        "The same numbers again",
        "Random numbers are counters: seed, rank, realization and message decide each draw. The "
        "same version and seed give the same bits on any number of threads, on CPU and GPU.",
    ),
)

SOURCES = (
    (
        "MS12",
        "Matsumoto & Suda, A collective communication algorithm that mitigates jitter, IPSJ SIG "
        "Technical Report HPC 137-19, 2012. Redundant exchanges after the butterfly.",
    ),
    (
        "CS14",
        "Chen & Suda, Evaluation of Impact of Noise on Collective Algorithms in Repeated "
        "Computation Cycle, 2014. Redundant exchanges inside the butterfly.",
    ),
    (
        "HM18",
        "Horikoshi et al., Scaling Collectives on Large Clusters of Intel Architecture Processors, "
        "IXPUG, 2018. Delays of single steps, barrier and allreduce on Oakforest-PACS.",
    ),
    (
        "HSL09",
        "Hoefler, Schneider & Lumsdaine, The Impact of Network Noise on Large-Scale Communication "
        "Performance, LSPP, 2009. Other jobs' traffic in fat trees; its simulator is ORCS.",
    ),
    (
        "AGV05",
        "Agarwal, Garg & Vishnoi, The Impact of Noise on the Scaling of Collectives: A Theoretical "
        "Approach, HiPC, 2005. The largest of many phases.",
    ),
)
