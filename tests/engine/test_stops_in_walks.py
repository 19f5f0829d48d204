"""Ctrl-C while the engine walks through intervals of noise, which takes minutes on one rank or all.

Each in a process of its own, as a user's program: a signal that comes late hits nobody else.
"""

import json
import subprocess
import sys

import pytest
from support.scale import some

PROGRAM = """
import json, os, signal, threading, time, warnings
import jitterfly as jf

warnings.simplefilter("ignore")
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the shell put us behind
NETWORK = jf.LogGOPS("1us", "200ns")
TWO = [jf.PeriodicNoise("1ms", "10us"), jf.PeriodicNoise("1.0001ms", "7us")]
RENEWAL = [jf.RenewalNoise("1ms", "10us")]
# Detours of one recording are passed at once up to the next one of the other.
TRACES = [jf.TraceNoise(starts=[0, 4e-5], durations=[1e-6, 2e-6], length=length)
          for length in (1e-4, 1.0001e-4)]

def case(noise, ranks=4096, compute_time="1h", **options):
    return jf.Case(ranks, network=NETWORK, noise=noise, compute_time=compute_time, **options)

def simulate(*given, **options):
    jf.simulate(case(*given, **options), 16, backend="cpu")

def schedule(ranks=2048):
    building = jf.ScheduleBuilder(ranks)
    building.calc("1h")
    return building.build()

pressed = []

def press():
    pressed.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

run = lambda: CALL
timer = threading.Timer(1, press)
timer.start()
try:
    run()
    stopped = False
except KeyboardInterrupt:
    stopped = True
print(json.dumps([stopped, time.monotonic() - pressed[0] if pressed else None]), flush=True)
os._exit(0)
"""

# Undisturbed they take from half a minute to hours.
CALLS = {
    "two periodic sources": "simulate(TWO)",
    "renewals": "simulate(RENEWAL)",
    "two traces": "simulate(TRACES)",
    "ranks in one lane": "jf.simulate(case(TWO, algorithm=jf.RingAllreduce()), 1, threads=1)",
    "lanes": "jf.simulate(case(TRACES, algorithm=jf.RingAllreduce()), 64, backend='cpu')",
    "a team on each realization": "simulate(TWO, 2**21)",
    "a wait": "simulate(RENEWAL, 64, 0, arrival=jf.imbalance.GivenArrival([0] * 63 + [1e6]))",
    "a short walk in each of many cycles": "simulate(RENEWAL, 1024, '0.9s', cycles=10**4)",
    "ready times": "jf.ready_times(case(TWO))",
    "explain": "jf.explain(case(TWO), 16)",
    "intervals": "jf.noise_intervals(case([jf.RenewalNoise('1ms', '1us', begin=10**6)]), 0, "
    "10**6 + 1)",
    "a schedule": "jf.simulate_schedule(schedule(), NETWORK, TWO, 16)",
    "a schedule in the order of arrival": "jf.simulate_schedule(schedule(), NETWORK, TRACES, 16, "
    "order='arrival')",
    "a schedule that is explained": "jf.explain_schedule(schedule(), NETWORK, RENEWAL, 16)",
}


@pytest.mark.parametrize("call", some(CALLS, 5))
def test_ctrl_c(call):
    """Within 10 s on a busy machine; a tenth of a second is usual."""
    script = PROGRAM.replace("CALL", CALLS[call])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          timeout=120, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    stopped, seconds = json.loads(done.stdout)
    assert stopped
    assert seconds < 10
