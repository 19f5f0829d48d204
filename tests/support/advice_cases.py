"""Machines, noise and questions for tests of `advise`."""

import jitterfly as jf
from jitterfly.cli import main

MACHINE = jf.LogGOPS(L="1us", o="0.1us", G="1ns", gamma="0.1ns")

NOISE = [jf.PeriodicNoise(period="1ms", duration="10us", start="stationary")]

BUTTERFLIES = ("butterfly", "butterfly_after_1", "butterfly_after_all", "butterfly_within_all")

ARGUMENTS = ("--ranks", "4,64", "--bytes", "8,1KiB", "--network", "L=1us,o=0.1us,G=1ns,gamma=0.1ns",
             "--noise", "period=1ms,duration=10us,start=stationary")  # fmt: skip


def asked(option, value):
    """`ARGUMENTS` with another value of an option, which is given once."""
    at = ARGUMENTS.index(option) + 1
    return (*ARGUMENTS[:at], value, *ARGUMENTS[at + 1 :])


FILE = """
ranks = "4,64"
message_bytes = [8, "1KiB"]
seed = 4
candidates = ["butterfly", "butterfly_after_1"]
network = { kind = "loggops", L = "1us", o = "0.1us", G = "1ns", gamma = "0.1ns" }
[[noise]]
kind = "periodic"
period = "1ms"
duration = "10us"
start = "stationary"
[own.both]
kind = "butterfly"
exchanges_after = 1
copy_levels = [1]
"""


def run(*arguments):
    try:
        return main(["advise", *map(str, arguments)])
    except SystemExit as stop:
        return stop.code
